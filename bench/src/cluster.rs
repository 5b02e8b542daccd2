//! Starts the PostgreSQL cluster of the benchmarks.

use crate::Failure;
use postgres_cluster::StartError;
use std::path::PathBuf;

pub(crate) use postgres_cluster::Cluster;

/// The only setting that differs from the defaults, because 128 clients of pgbench and the pools of four
/// programs need connections.
pub(crate) const SETTINGS: &str = "max_connections=300";

/// Creates and starts a cluster.
pub(crate) fn start() -> Result<Cluster, Failure> {
    Cluster::start(&[SETTINGS]).map_err(explain)
}

/// Creates and starts a cluster with one more setting.
pub(crate) fn start_with(setting: &str) -> Result<Cluster, Failure> {
    Cluster::start(&[SETTINGS, setting]).map_err(explain)
}

/// Creates and starts a cluster and its standby. Commits of the cluster wait for the standby.
pub(crate) fn start_synchronous() -> Result<(Cluster, Cluster), Failure> {
    let primary = Cluster::start(&[SETTINGS, "synchronous_standby_names=standby"]);
    let primary = primary.map_err(explain)?;
    let standby = primary.start_standby(&[SETTINGS]).map_err(explain)?;
    Ok((primary, standby))
}

/// Returns the folder of PostgreSQL's programs.
pub(crate) fn programs() -> Result<PathBuf, Failure> {
    postgres_cluster::programs::folder().ok_or_else(|| explain(StartError::NotInstalled))
}

fn explain(error: StartError) -> Failure {
    match error {
        StartError::NotInstalled => format!("{error}; bench/run installs it").into(),
        error => error.into(),
    }
}
