//! Pages of a million users: `GET /users` at the start and in the middle against `GET /users/{id}`.

use crate::{
    Failure, cluster, console,
    http_client::Connection,
    machine,
    noise::Noise,
    program::Program,
    report::{self, Block, Table},
    services,
    statistics::{millis, percentile, spread},
    users::PASSWORD,
    verdict::{self, Target, Verdict},
};
use http::StatusCode;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const USERS: i64 = 1_000_000;
/// Far from the ids that the services have given out.
const FIRST_ID: i64 = 1001;
/// The usual size of a page.
const PAGE: usize = 50;
/// Every request once, by turns: a slow moment of the machine is a moment for all of them.
const TURNS: usize = 5;

/// Asks for users and for pages of users, by turns, and prints a table.
#[derive(Debug, clap::Args)]
pub(crate) struct PagingOptions {
    /// A tenth of the requests: to see that it works, not to quote
    #[arg(long)]
    quick: bool,
    /// Write docs/performance-paging.md
    #[arg(long)]
    write: bool,
}

/// What is asked for.
#[derive(Clone, Copy)]
enum Asked {
    One,
    FirstPage,
    MiddlePage,
    MiddlePageOfRole,
}

const ALL: [Asked; 4] = [Asked::One, Asked::FirstPage, Asked::MiddlePage, Asked::MiddlePageOfRole];

impl Asked {
    fn name(self) -> &'static str {
        match self {
            Self::One => "GET /users/{id}",
            Self::FirstPage => "GET /users, first page",
            Self::MiddlePage => "GET /users, in the middle",
            Self::MiddlePageOfRole => "GET /users?role=author, in the middle",
        }
    }

    /// A little elsewhere each time, so that not one page of the database answers all.
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
            return Err(format!("{path} was answered {} {}", answer.status, answer.body).into());
        }
        Ok(time)
    }
}

/// The latencies of one subject: for each of [`ALL`], turn by turn.
struct Measured {
    subject: &'static str,
    times: [Vec<Vec<Duration>>; ALL.len()],
}

/// Measures, prints, writes.
pub(crate) async fn paging(options: PagingOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::note("starting PostgreSQL and the services, with a million users in each store");
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    let auth_service = services::auth_service(&url, folder.path()).await?;
    let gateway = services::gateway(&auth_service, None, folder.path()).await?;
    fill_postgresql(&url).await?;
    let file = folder.path().join("users.db");
    let embedded = format!("sqlite://{}", file.display());
    let embedded = services::all_in_one("rolegate", &embedded, folder.path()).await?;
    fill_sqlite(&file).await?;

    let noise = Noise::listen(&cluster);
    let requests = if options.quick { 40 } else { 400 };
    let mut measured = Vec::new();
    for (subject, program) in
        [("gateway + auth-service, PostgreSQL", &gateway), ("rolegate, SQLite", &embedded)]
    {
        console::note(subject);
        measured.push(measure(subject, program, requests).await?);
    }

    let how = format!(
        "{USERS} users in each store. One connection, one request at a time, the four requests \
         by turns; {TURNS} times {requests} of each. A page has {PAGE} users; every request is \
         made at another place of the middle."
    );
    let mut machine = machine::description(&cluster.programs);
    machine.push(noise.told(&cluster));
    let blocks = vec![
        Block::Heading("What must be reached by pages of a million users".to_owned()),
        Block::Table(verdict::table(&measured.iter().flat_map(verdicts).collect::<Vec<_>>())),
        Block::Heading("Latencies".to_owned()),
        Block::Table(latencies(&measured)),
        Block::Heading("How, and on what".to_owned()),
        Block::Paragraph(how),
        Block::List(machine),
    ];
    console::say(&report::plain(&blocks));
    if options.write {
        report::write(&PathBuf::from("docs/performance-paging.md"), &report::markdown(&blocks))?;
    }
    Ok(())
}

async fn measure(
    subject: &'static str,
    program: &Program,
    requests: usize,
) -> Result<Measured, Failure> {
    let address: SocketAddr = program.address("bearer")?;
    let mut connection = Connection::open(address).await?;
    let login = connection.log_in("admin", PASSWORD, "127.0.0.1").await?;
    let token = login.body["access_token"].as_str().ok_or("the admin cannot log in")?;
    let token = format!("Bearer {token}");
    for number in 0..requests {
        for asked in ALL {
            asked.ask(&mut connection, &token, number).await?;
        }
    }
    let mut times: [Vec<Vec<Duration>>; ALL.len()] = Default::default();
    for turn in 0..TURNS {
        for times in &mut times {
            times.push(Vec::with_capacity(requests));
        }
        for number in turn * requests..(turn + 1) * requests {
            for (asked, times) in ALL.into_iter().zip(&mut times) {
                let time = asked.ask(&mut connection, &token, number).await?;
                times[turn].push(time);
            }
        }
    }
    Ok(Measured { subject, times })
}

fn verdicts(measured: &Measured) -> Vec<Verdict> {
    let medians = |asked: Asked| {
        measured.times[asked as usize].iter().map(|times| millis(percentile(times, 50)))
    };
    let ratio = |one: Asked, other: Asked, most: f64| Verdict {
        claim: format!("{}: {} / {}", measured.subject, one.name(), other.name()),
        value: spread(medians(one).zip(medians(other)).map(|(one, other)| one / other)),
        target: Target::AtMost(most),
        unit: "×",
    };
    vec![
        ratio(Asked::FirstPage, Asked::One, 3.0),
        ratio(Asked::MiddlePage, Asked::One, 3.0),
        ratio(Asked::MiddlePageOfRole, Asked::One, 3.0),
    ]
}

fn latencies(measured: &[Measured]) -> Table {
    let row = |subject: &str, asked: Asked, turns: &[Vec<Duration>]| {
        let times = turns.concat();
        let at = |percent| format!("{:.2}", millis(percentile(&times, percent)));
        vec![format!("{subject}: {}", asked.name()), at(50), at(99)]
    };
    let rows = measured.iter().flat_map(|measured| {
        ALL.into_iter()
            .zip(&measured.times)
            .map(|(asked, times)| row(measured.subject, asked, times))
    });
    Table { head: vec!["Requests", "p50 ms", "p99 ms"], rows: rows.collect() }
}

/// The table was made by auth-service. Nobody logs in as these users.
async fn fill_postgresql(url: &str) -> Result<(), Failure> {
    let sql = r#"INSERT INTO "user" (id, username, password, role)
        SELECT n, 'load-user-' || n, '-', CASE WHEN n % 10 = 0 THEN 'author' ELSE 'user' END
        FROM generate_series($1, $2) AS n"#;
    let mut connection = PgConnection::connect(url).await?;
    let insert = sqlx::query(sql).bind(FIRST_ID).bind(FIRST_ID + USERS - 1);
    insert.execute(&mut connection).await?;
    // What autovacuum would do in the middle of a measurement.
    sqlx::query(r#"VACUUM (ANALYZE) "user""#).execute(&mut connection).await?;
    Ok(connection.close().await?)
}

/// The table was made by rolegate.
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
