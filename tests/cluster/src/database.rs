//! Databases for single tests, on one server for each test executable.

use crate::{Cluster, StartError};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};
use url::Url;

/// Settings of servers for tests. They permit the connections of all tests at once. They turn off
/// `fsync`, because tests kill processes and never the machine.
pub const TEST_SETTINGS: [&str; 6] = [
    "max_connections=500",
    "shared_buffers=64MB",
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "autovacuum=off",
];

/// Returns the URL of a database from which others can be created. It is `TEST_DATABASE_URL`, or
/// else belongs to a temporary cluster of the installed programs.
///
/// # Panics
///
/// Panics if PostgreSQL is missing, because an untested store must not go unnoticed.
pub fn server_url() -> &'static Url {
    // The static is never dropped. The cluster ends together with this process.
    static SERVER: OnceLock<(Url, Option<Cluster>)> = OnceLock::new();
    let server = || {
        if let Ok(url) = std::env::var("TEST_DATABASE_URL") {
            return (
                url.parse().expect("TEST_DATABASE_URL is a postgres:// URL"),
                None,
            );
        }
        let cluster = expect_started(Cluster::start(&TEST_SETTINGS));
        (
            cluster.url("postgres").parse().expect("a valid URL"),
            Some(cluster),
        )
    };
    &SERVER.get_or_init(server).0
}

/// Returns the started cluster.
///
/// # Panics
///
/// Panics if the cluster did not start. The message says what to do.
#[must_use]
pub fn expect_started(started: Result<Cluster, StartError>) -> Cluster {
    started.unwrap_or_else(|error| match error {
        StartError::NotInstalled => {
            panic!("{error}: tests/run installs it, or set TEST_DATABASE_URL")
        }
        error => panic!("{error}"),
    })
}

/// An empty database on a server, which is dropped together with this value.
#[derive(Debug)]
pub struct Database {
    server: Url,
    url: Url,
}

impl Database {
    /// Creates a database with a unique name on the server of [`server_url`].
    pub async fn create() -> Self {
        Self::create_on(server_url().clone()).await
    }

    /// Creates a database with a unique name on the server of this URL.
    pub async fn create_on(server: Url) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rolegate_test_{}_{count}", std::process::id());
        execute(
            &server,
            format!("CREATE DATABASE {name} TEMPLATE template0"),
        )
        .await;
        let mut url = server.clone();
        url.set_path(&name);
        Self { server, url }
    }

    /// Returns the URL of the database, in the form of `DATABASE_URL`.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let name = self.url.path().trim_start_matches('/');
        let sql = format!("DROP DATABASE {name} WITH (FORCE)");
        let server = self.server.clone();
        // The test's own runtime is busy with this drop, so another thread drops the database.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(execute(&server, sql));
        });
        let _ = dropping.join();
    }
}

async fn execute(server: &Url, sql: String) {
    let connection = PgConnection::connect(server.as_str()).await;
    let mut connection = connection.expect("PostgreSQL answers");
    // Commits must not wait for a standby, which the test may have stopped.
    for sql in ["SET synchronous_commit = local".to_owned(), sql] {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await
            .expect("executed");
    }
}
