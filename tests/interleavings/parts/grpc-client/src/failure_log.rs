//! Stands in for the log lines about replicas that cannot be reached, and logs nothing.

use crate::connect_error::ConnectError;
use std::net::SocketAddr;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicaName {
    pub(crate) program: &'static str,
    pub(crate) address: SocketAddr,
}

pub(crate) fn log(_: ReplicaName, _: bool, _: &ConnectError) {}

pub(crate) fn forget(_: ReplicaName) -> bool {
    false
}
