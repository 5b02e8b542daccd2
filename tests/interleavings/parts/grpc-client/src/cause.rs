//! Why a replica cannot be reached, without the log about it.

use std::{io, net::SocketAddr};
use tonic::Status;

#[derive(Debug)]
pub(crate) enum ConnectError {
    Stream(io::Error),
    Http2(io::Error),
    Health(Status),
}

impl ConnectError {
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Stream(error) if error.kind() == io::ErrorKind::ConnectionRefused)
    }
}

pub(crate) fn log(_: (&'static str, SocketAddr), _: bool, _: &ConnectError) {}

pub(crate) fn forget(_: (&'static str, SocketAddr)) -> bool {
    false
}
