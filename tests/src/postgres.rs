//! A real PostgreSQL: the one of `TEST_DATABASE_URL`, else a throw-away cluster from the installed
//! programs, one for each test executable.

use crate::Certificate;
use postgres_cluster::{Cluster, StartError};
use reqwest::Url;
use std::sync::OnceLock;

/// Room for every test at once, and no `fsync`: only our own processes are killed, never the machine.
const SETTINGS: [&str; 6] = [
    "max_connections=500",
    "shared_buffers=64MB",
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "autovacuum=off",
];

/// The URL of a database in which others may be created.
///
/// # Panics
///
/// Without PostgreSQL: a store that is not tested must be noticed.
pub fn url() -> &'static Url {
    // The cluster is never dropped; it ends with this process.
    static SERVER: OnceLock<(Url, Option<Cluster>)> = OnceLock::new();
    &SERVER.get_or_init(server).0
}

fn server() -> (Url, Option<Cluster>) {
    if let Ok(url) = std::env::var("TEST_DATABASE_URL") {
        return (url.parse().expect("TEST_DATABASE_URL is a postgres:// URL"), None);
    }
    let cluster = cluster(None);
    (url_of(&cluster), Some(cluster))
}

/// A cluster of a test's own, which ends with it. From the installed programs, also where
/// `TEST_DATABASE_URL` is set: that one's TLS is not ours to choose.
#[derive(Debug)]
pub struct OwnCluster(Cluster);

impl OwnCluster {
    /// With TLS by this certificate, or without.
    pub fn start(certificate: Option<&Certificate>) -> Self {
        Self(cluster(certificate))
    }

    /// What `DATABASE_URL` says to who calls it by this name, with these parameters.
    pub fn url_by(&self, host: &str, parameters: &str) -> String {
        let mut url = url_of(&self.0);
        url.set_host(Some(host)).expect("a host");
        url.set_query(Some(parameters));
        url.to_string()
    }
}

fn cluster(certificate: Option<&Certificate>) -> Cluster {
    let started = match certificate {
        None => Cluster::start(&SETTINGS),
        Some(files) => Cluster::start_with_tls(&SETTINGS, &files.certificate, &files.key),
    };
    started.unwrap_or_else(|error| match error {
        StartError::NotInstalled => {
            panic!("{error}: tests/run installs it, or set TEST_DATABASE_URL")
        }
        error => panic!("{error}"),
    })
}

fn url_of(cluster: &Cluster) -> Url {
    cluster.url("postgres").parse().expect("a valid URL")
}
