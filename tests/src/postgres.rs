//! PostgreSQL servers: the one that tests share, and clusters of single tests.

pub use postgres_cluster::server_url as url;

use crate::{Certificate, database::IS_OF_REQUEST, eventually};
use postgres_cluster::{Cluster, TEST_SETTINGS, expect_started};
use reqwest::Url;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::net::{Ipv4Addr, SocketAddr};

/// A cluster of one test. It uses the installed programs even if `TEST_DATABASE_URL` is set,
/// because its tests choose the settings of the server, or stop it.
#[derive(Debug)]
pub struct OwnCluster(Cluster);

impl OwnCluster {
    /// Starts a cluster, with TLS if there is a certificate.
    pub fn start(certificate: Option<&Certificate>) -> Self {
        Self(cluster(certificate))
    }

    /// Starts a cluster whose commits wait for its standby.
    pub async fn start_synchronous() -> Self {
        let mut settings = TEST_SETTINGS.to_vec();
        settings.retain(|setting| !setting.starts_with("synchronous_commit="));
        let cluster = Self(expect_started(Cluster::start(&settings)));
        cluster.set("synchronous_standby_names", "standby").await;
        cluster
    }

    /// Starts a cluster whose commits are written to disk before they are answered, as by default.
    pub fn start_durable() -> Self {
        let mut settings = TEST_SETTINGS.to_vec();
        settings.retain(|setting| !setting.ends_with("=off"));
        Self(expect_started(Cluster::start(&settings)))
    }

    /// Ends all processes of the cluster at once, and starts it again.
    pub fn crash(&mut self) {
        self.0.crash().expect("it starts again");
    }

    /// Changes a setting of the server.
    pub async fn set(&self, name: &str, value: &str) {
        let mut connection = PgConnection::connect(self.url().as_str())
            .await
            .expect("connected");
        for sql in [
            "SET synchronous_commit = local".to_owned(),
            format!("ALTER SYSTEM SET {name} = '{value}'"),
            "SELECT pg_reload_conf()".to_owned(),
        ] {
            sqlx::raw_sql(AssertSqlSafe(sql))
                .execute(&mut connection)
                .await
                .expect("executed");
        }
        let sql = format!("SELECT current_setting('{name}')");
        eventually("the setting", async || {
            let mut connection = PgConnection::connect(self.url().as_str()).await.ok()?;
            let sql = AssertSqlSafe(sql.clone());
            let now: String = sqlx::query_scalar(sql)
                .fetch_one(&mut connection)
                .await
                .ok()?;
            (now == value).then_some(())
        })
        .await;
    }

    /// Starts a standby of this cluster.
    #[must_use]
    pub fn start_standby(&self) -> Self {
        Self(expect_started(self.0.start_standby(&TEST_SETTINGS)))
    }

    /// Stops the cluster at once, as a crash would.
    pub fn stop(&mut self) {
        self.0.stop();
    }

    /// Freezes the cluster's processes, so that connections stay open and nothing answers.
    pub fn freeze(&self) {
        self.0.signal("STOP");
    }

    /// Lets the processes continue after [`OwnCluster::freeze`].
    pub fn thaw(&self) {
        self.0.signal("CONT");
    }

    /// Returns the URL of the database `postgres`.
    pub fn url(&self) -> Url {
        self.0.url("postgres").parse().expect("a valid URL")
    }

    /// Returns the address of the server.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.0.port))
    }

    /// Executes a statement in a database of the cluster.
    pub async fn execute(&self, database: &str, sql: &'static str) {
        let url = self.0.url(database);
        let mut connection = PgConnection::connect(&url).await.expect("connected");
        sqlx::raw_sql(sql)
            .execute(&mut connection)
            .await
            .expect("executed");
    }

    /// Returns whether the commit of a request that changed this table waits for a synchronous standby. Its locks are kept
    /// until the end of the commit.
    pub async fn has_waiting_commit_to(&self, table: &str) -> bool {
        let mut connection = PgConnection::connect(self.url().as_str())
            .await
            .expect("connected");
        let sql = format!(
            "SELECT EXISTS (
            SELECT 1 FROM pg_stat_activity JOIN pg_locks USING (pid) JOIN pg_class ON pg_class.oid = relation
            WHERE wait_event = 'SyncRep' AND mode = 'RowExclusiveLock' AND relname = $1 AND {IS_OF_REQUEST})"
        );
        sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(table)
            .fetch_one(&mut connection)
            .await
            .expect("a boolean")
    }

    /// Counts the standbys that stream from this cluster.
    pub async fn standbys(&self) -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        let mut connection = PgConnection::connect(self.url().as_str())
            .await
            .expect("connected");
        sqlx::query_scalar(sql)
            .fetch_one(&mut connection)
            .await
            .expect("counted")
    }

    /// Returns the id that the next transaction gets. The difference of two calls counts the
    /// transactions between them.
    pub async fn next_transaction(&self) -> u64 {
        let sql = "SELECT txid_snapshot_xmax(txid_current_snapshot())";
        let mut connection = PgConnection::connect(self.url().as_str())
            .await
            .expect("connected");
        let next: i64 = sqlx::query_scalar(sql)
            .fetch_one(&mut connection)
            .await
            .expect("read");
        next.try_into().expect("positive")
    }

    /// Returns a `DATABASE_URL` with this host name and these parameters.
    pub fn url_by(&self, host: &str, parameters: &str) -> String {
        let mut url = self.url();
        url.set_host(Some(host)).expect("a host");
        url.set_query(Some(parameters));
        url.to_string()
    }
}

/// Reads the role of a user from the database of this URL. Returns `None` if the user or the table
/// does not exist.
pub async fn role_of(url: &str, username: &str) -> Option<String> {
    let mut connection = PgConnection::connect(url).await.ok()?;
    let sql = r#"SELECT role FROM "user" WHERE username = $1"#;
    let role = sqlx::query_scalar(sql)
        .bind(username)
        .fetch_optional(&mut connection)
        .await;
    role.ok().flatten()
}

fn cluster(certificate: Option<&Certificate>) -> Cluster {
    expect_started(match certificate {
        None => Cluster::start(&TEST_SETTINGS),
        Some(files) => Cluster::start_with_tls(&TEST_SETTINGS, &files.certificate, &files.key),
    })
}
