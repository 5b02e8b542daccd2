//! PostgreSQL servers: the one that tests share, and clusters of one test.

pub use postgres_cluster::server_url as url;

use crate::Certificate;
use postgres_cluster::{Cluster, TEST_SETTINGS, expect_started};
use reqwest::Url;
use sqlx::{Connection as _, PgConnection};
use std::net::{Ipv4Addr, SocketAddr};

/// A cluster of one test. It is of the installed programs even with `TEST_DATABASE_URL`, because its
/// tests choose the settings of the server, or stop it.
#[derive(Debug)]
pub struct OwnCluster(Cluster);

impl OwnCluster {
    /// With TLS by this certificate, or without.
    pub fn start(certificate: Option<&Certificate>) -> Self {
        Self(cluster(certificate))
    }

    /// A standby of this cluster.
    pub fn start_standby(&self) -> Self {
        Self(expect_started(self.0.start_standby(&TEST_SETTINGS)))
    }

    /// The URL of its database `postgres`.
    pub fn url(&self) -> Url {
        self.0.url("postgres").parse().expect("a valid URL")
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.0.port))
    }

    /// Executes a statement in a database of it.
    pub async fn execute(&self, database: &str, sql: &'static str) {
        let url = self.0.url(database);
        let mut connection = PgConnection::connect(&url).await.expect("connected");
        sqlx::raw_sql(sql).execute(&mut connection).await.expect("executed");
    }

    /// A `DATABASE_URL` with this host name and these parameters.
    pub fn url_by(&self, host: &str, parameters: &str) -> String {
        let mut url = self.url();
        url.set_host(Some(host)).expect("a host");
        url.set_query(Some(parameters));
        url.to_string()
    }
}

/// Whether the database of this URL has a user of this name; no error without a table.
pub async fn username_exists(url: &str, username: &str) -> bool {
    let Ok(mut connection) = PgConnection::connect(url).await else { return false };
    let sql = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = $1)"#;
    sqlx::query_scalar(sql).bind(username).fetch_one(&mut connection).await.unwrap_or(false)
}

fn cluster(certificate: Option<&Certificate>) -> Cluster {
    expect_started(match certificate {
        None => Cluster::start(&TEST_SETTINGS),
        Some(files) => Cluster::start_with_tls(&TEST_SETTINGS, &files.certificate, &files.key),
    })
}
