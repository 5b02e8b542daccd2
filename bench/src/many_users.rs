//! Measures `GET /profile` with many users.
//!
//! It shows the cost of a deeper index, and of pages that are not in PostgreSQL's cache. It also shows the gain from a
//! larger cache, and from an index with every column that a decision reads.

use crate::{
    Failure,
    cluster::{self, Cluster},
    console, machine,
    noise::Noise,
    page,
    report::{self, Block, Table, thousands},
    statistics::{Spread, micros, rate, spread},
    target,
    users::{self, LoadUser},
    wrk::Wrk,
};
use sqlx::{Connection as _, PgConnection};
use std::{path::Path, time::Duration};

/// The sizes of PostgreSQL's cache: the default, and more than the table and its indexes need.
const SHARED_BUFFERS: [&str; 2] = ["128MB", "1GB"];
const CONNECTIONS: usize = 128;
/// The number of users that the requests are about, which is enough to reach nearly every page of the table.
const SPREAD_USERS: usize = 100_000;
/// Creates an index like `user_pkey` that also has the columns that a decision reads.
const COVERING_INDEX: &str = r#"CREATE UNIQUE INDEX user_covering ON "user" (id)
    INCLUDE (username, role, tokens_not_before, disabled, tokens_marked_until)"#;

/// Changes 5 % of the rows, as logins do.
///
/// Until autovacuum runs, PostgreSQL reads the pages of changed rows in spite of the covering index. By default,
/// autovacuum runs after a fifth of the rows has changed.
const LOGINS: &str = r#"UPDATE "user" SET last_login_at = 1 WHERE id % 20 = 0"#;

/// Loads the services with few and with millions of users, and prints decisions per second.
#[derive(Debug, clap::Args)]
pub(crate) struct ManyUsersOptions {
    /// Use a million users and one round; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Write bench/results/performance-many-users.md
    #[arg(long, conflicts_with = "quick")]
    write: bool,
}

/// The measurements of one state of the database.
struct State {
    shared_buffers: &'static str,
    name: String,
    per_second: Spread,
    /// The CPU time of PostgreSQL per decision, in microseconds.
    postgresql: Spread,
    /// The CPU time of the services and wrk per decision, in microseconds.
    others: Spread,
    /// The number of pages per decision that were not in PostgreSQL's cache.
    pages_read: Spread,
}

/// Runs the benchmark and prints the results.
#[expect(
    clippy::too_many_lines,
    reason = "the steps of one measurement, in order"
)]
pub(crate) async fn many_users(options: ManyUsersOptions) -> Result<(), Failure> {
    let (users, rounds, seconds) = if options.quick {
        (1_000_000, 1, 2)
    } else {
        (3_000_000, 3, 3)
    };
    let near = users::with_tokens()?;
    let scattered = users::with_tokens_among(users, near.len())?;
    let spread_over = users::with_tokens_among(users, SPREAD_USERS)?;
    let mut states = Vec::new();
    let mut machine = machine::description(&cluster::programs()?);
    for shared_buffers in SHARED_BUFFERS {
        let folder = tempfile::tempdir()?;
        let cluster = cluster::start_with(&format!("shared_buffers={shared_buffers}"))?;
        let noise = Noise::start(&cluster);
        let target = target::split(&cluster, folder.path()).await?;
        let mut connection = PgConnection::connect(&cluster.url("postgres")).await?;
        let mut measure = async |name: String, users: &[LoadUser]| {
            console::progress(&format!("shared_buffers={shared_buffers}: {name}"));
            let wrk = Wrk::new(
                "/profile",
                users.iter().map(LoadUser::bearer),
                folder.path(),
            )?;
            let load = Load {
                wrk,
                target: &target,
                cluster: &cluster,
            };
            states.push(load.measure(shared_buffers, name, rounds, seconds).await?);
            Ok::<_, Failure>(())
        };
        let few = thousands(f64::from(u32::try_from(near.len())?));
        let many = thousands(f64::from(u32::try_from(users)?));
        measure(format!("{few} users"), &near).await?;
        users::insert_more_into_postgresql(&cluster.url("postgres"), users).await?;
        measure(format!("{many} users, {few} neighbours active"), &near).await?;
        measure(format!("{many} users, {few} active"), &scattered).await?;
        measure(format!("{many} users, all active"), &spread_over).await?;
        sqlx::query(COVERING_INDEX).execute(&mut connection).await?;
        measure("covering index, just vacuumed".to_owned(), &spread_over).await?;
        sqlx::query(LOGINS).execute(&mut connection).await?;
        measure(
            "covering index, after 5 % logged in".to_owned(),
            &spread_over,
        )
        .await?;
        connection.close().await?;
        machine.push(format!(
            "shared_buffers={shared_buffers}: {}",
            noise.report(&cluster)
        ));
    }
    let how = format!(
        "GET /profile by gateway and auth-service on {CONNECTIONS} connections. All active: {SPREAD_USERS} users, \
         evenly over the table. Pages read come from the cache of the operating system. {rounds} rounds of \
         {seconds} s after one of warm-up, medians."
    );
    let blocks = vec![
        Block::Heading("Decisions with many users".to_owned()),
        Block::Table(table(&states)),
        Block::Heading("Method and machine".to_owned()),
        Block::Paragraph(how),
        Block::List(machine),
    ];
    console::print(&report::plain(&blocks));
    if options.write {
        page::write(Path::new("bench/results"), "many-users", None, &blocks)?;
    }
    Ok(())
}

struct Load<'a> {
    wrk: Wrk,
    target: &'a target::Target,
    cluster: &'a Cluster,
}

impl Load<'_> {
    async fn measure(
        &self,
        shared_buffers: &'static str,
        name: String,
        rounds: usize,
        seconds: u64,
    ) -> Result<State, Failure> {
        let (mut per_second, mut pages) = (Vec::new(), Vec::new());
        let (mut postgresql, mut others) = (Vec::new(), Vec::new());
        self.wrk
            .load(self.target.bearer, CONNECTIONS, seconds)
            .await?;
        for _ in 0..rounds {
            let (cpu_before, pages_before) = (self.cpu(), self.pages_read().await?);
            let seen = self
                .wrk
                .load(self.target.bearer, CONNECTIONS, seconds)
                .await?;
            let (cpu, read) = (self.cpu(), self.pages_read().await? - pages_before);
            per_second.push(rate(seen.requests, seen.time));
            let requests = f64::from(u32::try_from(seen.requests)?);
            postgresql.push(micros(cpu.0.saturating_sub(cpu_before.0)) / requests);
            others.push(micros(cpu.1.saturating_sub(cpu_before.1) + seen.own_cpu) / requests);
            pages.push(f64::from(u32::try_from(read)?) / requests);
        }
        Ok(State {
            shared_buffers,
            name,
            per_second: spread(per_second),
            postgresql: spread(postgresql),
            others: spread(others),
            pages_read: spread(pages),
        })
    }

    /// Returns the CPU time of PostgreSQL, and that of the services.
    fn cpu(&self) -> (Duration, Duration) {
        let cpu = self.target.cpu(&[self.cluster.pid]);
        let (postgresql, services): (Vec<_>, Vec<_>) =
            cpu.into_iter().partition(|(name, _)| *name == "PostgreSQL");
        let sum = |programs: Vec<(_, Duration)>| programs.into_iter().map(|(_, time)| time).sum();
        (sum(postgresql), sum(services))
    }

    /// Returns the number of pages that PostgreSQL has read so far.
    ///
    /// Each call opens a connection, because a connection returns its first answer again for a while.
    async fn pages_read(&self) -> Result<i64, Failure> {
        let mut connection = PgConnection::connect(&self.cluster.url("postgres")).await?;
        let sql = "SELECT blks_read FROM pg_stat_database WHERE datname = 'postgres'";
        let read = sqlx::query_scalar(sql).fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(read)
    }
}

fn table(states: &[State]) -> Table {
    let row = |state: &State| {
        let same = |other: &&State| other.shared_buffers == state.shared_buffers;
        let first = states
            .iter()
            .find(same)
            .map_or(f64::NAN, |first| first.per_second.median);
        vec![
            format!("{}: {}", state.shared_buffers, state.name),
            thousands(state.per_second.median),
            format!("{:.2}×", state.per_second.median / first),
            format!("{:.2}", state.postgresql.median),
            format!("{:.1}", state.others.median),
            format!("{:.2}", state.pages_read.median),
        ]
    };
    Table {
        head: vec![
            "shared_buffers and users",
            "decisions/s",
            "to the first",
            "PostgreSQL µs",
            "services and wrk µs",
            "pages read",
        ],
        rows: states.iter().map(row).collect(),
    }
}
