//! PostgreSQL servers: the one that tests share, and clusters of one test.

pub use postgres_cluster::server_url as url;

use crate::Certificate;
use postgres_cluster::{Cluster, TEST_SETTINGS, expect_started};
use reqwest::Url;

/// A cluster of one test. It is of the installed programs even with `TEST_DATABASE_URL`, because its
/// tests choose the TLS settings of the server.
#[derive(Debug)]
pub struct OwnCluster(Cluster);

impl OwnCluster {
    /// With TLS by this certificate, or without.
    pub fn start(certificate: Option<&Certificate>) -> Self {
        Self(cluster(certificate))
    }

    /// A `DATABASE_URL` with this host name and these parameters.
    pub fn url_by(&self, host: &str, parameters: &str) -> String {
        let mut url: Url = self.0.url("postgres").parse().expect("a valid URL");
        url.set_host(Some(host)).expect("a host");
        url.set_query(Some(parameters));
        url.to_string()
    }
}

fn cluster(certificate: Option<&Certificate>) -> Cluster {
    expect_started(match certificate {
        None => Cluster::start(&TEST_SETTINGS),
        Some(files) => Cluster::start_with_tls(&TEST_SETTINGS, &files.certificate, &files.key),
    })
}
