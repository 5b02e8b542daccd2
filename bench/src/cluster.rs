//! The PostgreSQL that is measured with.

use crate::Failure;
use postgres_cluster::StartError;

pub(crate) use postgres_cluster::Cluster;

/// All that differs from the defaults (`fsync` is on, `shared_buffers` are 128 MB): 128 clients of
/// pgbench and the pools of four programs must find a place.
pub(crate) const SETTINGS: &str = "max_connections=300";

/// Makes and starts a cluster.
pub(crate) fn start() -> Result<Cluster, Failure> {
    Cluster::start(&[SETTINGS]).map_err(|error| match error {
        StartError::NotInstalled => format!("{error}; tests/load/run installs it").into(),
        error => error.into(),
    })
}
