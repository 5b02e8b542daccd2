//! Measures pages of a million users: `GET /users` relative to `GET /users/{id}`.

use crate::{
    Failure, cluster, console,
    http_client::Connection,
    machine,
    noise::Noise,
    page,
    program::Program,
    report::{self, Block, Table},
    services,
    statistics::{millis, percentile, spread},
    users::PASSWORD,
    verdict::{self, Mark, Verdict},
};
use http::StatusCode;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

const USERS: i64 = 1_000_000;
/// The first id of the inserted users, which is above the ids that the services have assigned.
const FIRST_ID: i64 = 1001;
/// The default page size.
const PAGE: usize = 50;
/// The number of rounds. Requests of all kinds alternate, so that a slow moment of the machine affects all of them.
const ROUNDS: usize = 5;

/// Requests users and pages of users alternately, and prints a table.
#[derive(Debug, clap::Args)]
pub(crate) struct PagingOptions {
    /// Send a tenth of the requests; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Write bench/results/performance-paging.md
    #[arg(long)]
    write: bool,
}

/// A kind of request whose latency is measured.
#[derive(Clone, Copy)]
enum RequestKind {
    One,
    FirstPage,
    MiddlePage,
    MiddlePageOfRole,
}

const ALL: [RequestKind; 4] = [
    RequestKind::One,
    RequestKind::FirstPage,
    RequestKind::MiddlePage,
    RequestKind::MiddlePageOfRole,
];

impl RequestKind {
    fn name(self) -> &'static str {
        match self {
            Self::One => "GET /users/{id}",
            Self::FirstPage => "GET /users, first page",
            Self::MiddlePage => "GET /users, in the middle",
            Self::MiddlePageOfRole => "GET /users?role=author, in the middle",
        }
    }

    /// Returns the path, which varies with `number`, so that requests read different database pages.
    fn path(self, number: usize) -> Result<String, Failure> {
        let middle = FIRST_ID + USERS / 2 + i64::try_from(number * PAGE % 100_000)?;
        Ok(match self {
            Self::One => format!("/users/{middle}"),
            Self::FirstPage => "/users".to_owned(),
            Self::MiddlePage => format!("/users?after={middle}"),
            Self::MiddlePageOfRole => format!("/users?after={middle}&role=author"),
        })
    }

    async fn ask(
        self,
        connection: &mut Connection,
        token: &str,
        number: usize,
    ) -> Result<Duration, Failure> {
        let path = self.path(number)?;
        let start = Instant::now();
        let answer = connection.get(&path, Some(token)).await?;
        let time = start.elapsed();
        let found = match self {
            Self::One => usize::from(answer.body["id"].is_i64()),
            _ => answer.body["users"].as_array().map_or(0, Vec::len),
        };
        let wanted = if matches!(self, Self::One) { 1 } else { PAGE };
        if (answer.status, found) != (StatusCode::OK, wanted) {
            return Err(format!("{path} returned {} {}", answer.status, answer.body).into());
        }
        Ok(time)
    }
}

/// The latencies of one target, for each kind in [`ALL`] and round by round.
struct Measured {
    target: &'static str,
    times: [Vec<Vec<Duration>>; ALL.len()],
}

/// Runs the benchmark and writes the report.
pub(crate) async fn paging(options: PagingOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL and the services, with a million users in each store");
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    let auth_service = services::auth_service(&url, folder.path()).await?;
    let gateway = services::gateway(&auth_service, None, folder.path()).await?;
    fill_postgresql(&url).await?;
    let file = folder.path().join("users.db");
    let embedded = format!("sqlite://{}", file.display());
    let embedded = services::all_in_one("rolegate", &embedded, folder.path()).await?;
    fill_sqlite(&file).await?;

    let noise = Noise::start(&cluster);
    let requests = if options.quick { 40 } else { 400 };
    let mut measured = Vec::new();
    for (target, program) in [
        ("gateway + auth-service, PostgreSQL", &gateway),
        ("rolegate, SQLite", &embedded),
    ] {
        console::progress(target);
        measured.push(measure(target, program, requests).await?);
    }

    let how = format!(
        "{USERS} users in each store. One connection, one request at a time, four kinds of requests \
         alternating; {ROUNDS} rounds of {requests} each. A page has {PAGE} users; each request reads \
         another position."
    );
    let mut machine = machine::description(&cluster.programs);
    machine.push(noise.report(&cluster));
    let blocks = vec![
        Block::Heading("Marks for pages of a million users".to_owned()),
        Block::Table(verdict::table(
            &measured.iter().flat_map(verdicts).collect::<Vec<_>>(),
        )),
        Block::Heading("Latencies".to_owned()),
        Block::Table(latencies(&measured)),
        Block::Heading("Method and machine".to_owned()),
        Block::Paragraph(how),
        Block::List(machine),
    ];
    console::print(&report::plain(&blocks));
    if options.write {
        page::write(Path::new("bench/results"), "paging", None, &blocks)?;
    }
    Ok(())
}

async fn measure(
    target: &'static str,
    program: &Program,
    requests: usize,
) -> Result<Measured, Failure> {
    let address: SocketAddr = program.address("bearer")?;
    let mut connection = Connection::open(address).await?;
    let login = connection.log_in("admin", PASSWORD, "127.0.0.1").await?;
    let token = login.body["access_token"]
        .as_str()
        .ok_or("cannot log in as admin")?;
    let token = format!("Bearer {token}");
    for number in 0..requests {
        for kind in ALL {
            kind.ask(&mut connection, &token, number).await?;
        }
    }
    let mut times: [Vec<Vec<Duration>>; ALL.len()] = Default::default();
    for round in 0..ROUNDS {
        for times in &mut times {
            times.push(Vec::with_capacity(requests));
        }
        for number in round * requests..(round + 1) * requests {
            for (kind, times) in ALL.into_iter().zip(&mut times) {
                let time = kind.ask(&mut connection, &token, number).await?;
                times[round].push(time);
            }
        }
    }
    Ok(Measured { target, times })
}

fn verdicts(measured: &Measured) -> Vec<Verdict> {
    let medians = |kind: RequestKind| {
        measured.times[kind as usize]
            .iter()
            .map(|times| millis(percentile(times, 50)))
    };
    let ratio = |one: RequestKind, other: RequestKind, most: f64| Verdict {
        claim: format!("{}: {} / {}", measured.target, one.name(), other.name()),
        value: spread(
            medians(one)
                .zip(medians(other))
                .map(|(one, other)| one / other),
        ),
        mark: Mark::AtMost(most),
        unit: "×",
    };
    vec![
        ratio(RequestKind::FirstPage, RequestKind::One, 3.0),
        ratio(RequestKind::MiddlePage, RequestKind::One, 3.0),
        ratio(RequestKind::MiddlePageOfRole, RequestKind::One, 3.0),
    ]
}

fn latencies(measured: &[Measured]) -> Table {
    let row = |target: &str, kind: RequestKind, rounds: &[Vec<Duration>]| {
        let times = rounds.concat();
        let at = |percent| format!("{:.2}", millis(percentile(&times, percent)));
        vec![format!("{target}: {}", kind.name()), at(50), at(99)]
    };
    let rows = measured.iter().flat_map(|measured| {
        ALL.into_iter()
            .zip(&measured.times)
            .map(|(kind, times)| row(measured.target, kind, times))
    });
    Table {
        head: vec!["Requests", "p50 ms", "p99 ms"],
        rows: rows.collect(),
    }
}

/// Fills the table that auth-service has created. These users cannot log in.
async fn fill_postgresql(url: &str) -> Result<(), Failure> {
    let sql = r#"INSERT INTO "user" (id, username, password, role)
        SELECT n, 'load-user-' || n, '-', CASE WHEN n % 10 = 0 THEN 'author' ELSE 'user' END
        FROM generate_series($1, $2) AS n"#;
    let mut connection = PgConnection::connect(url).await?;
    let insert = sqlx::query(sql).bind(FIRST_ID).bind(FIRST_ID + USERS - 1);
    insert.execute(&mut connection).await?;
    // Without a vacuum here, autovacuum would run during the measurement.
    sqlx::query(r#"VACUUM (ANALYZE) "user""#)
        .execute(&mut connection)
        .await?;
    Ok(connection.close().await?)
}

/// Fills the table that rolegate has created.
async fn fill_sqlite(file: &Path) -> Result<(), Failure> {
    let sql = r#"INSERT INTO "user" (id, username, password, role)
        WITH RECURSIVE series(n) AS (VALUES(?1) UNION ALL SELECT n + 1 FROM series WHERE n < ?2)
        SELECT n, 'load-user-' || n, '-', CASE WHEN n % 10 = 0 THEN 'author' ELSE 'user' END
        FROM series"#;
    let mut connection = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await?;
    let insert = sqlx::query(sql).bind(FIRST_ID).bind(FIRST_ID + USERS - 1);
    insert.execute(&mut connection).await?;
    Ok(connection.close().await?)
}
