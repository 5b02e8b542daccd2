//! Describes why a replica cannot be reached.

use rolegate_grpc_tls::tls_problem;
use std::{error::Error as _, io, iter};
use tonic::Status;

#[derive(Debug)]
pub(crate) enum ConnectError {
    /// There is no stream, because TCP or the TLS handshake failed.
    Stream(io::Error),
    /// The peer does not speak HTTP/2 on the stream, or the connection broke.
    Http2(io::Error),
    /// The health service did not report a status.
    Health(Status),
}

impl ConnectError {
    /// Returns whether no program listens at the address.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Stream(error) if error.kind() == io::ErrorKind::ConnectionRefused)
    }

    pub(crate) fn describe(&self, is_encrypted: bool) -> String {
        match self {
            Self::Stream(error) => tls_problem(error).unwrap_or_else(|| match error.kind() {
                io::ErrorKind::Other | io::ErrorKind::InvalidData => error.to_string(),
                kind => kind.to_string(),
            }),
            // A port with TLS answers plain text with bytes that are not HTTP/2, and closes the connection. The
            // client may notice either event first, so the error varies and is not shown.
            Self::Http2(_) if !is_encrypted => {
                "it does not speak HTTP/2; if this is a port with TLS, use https://".to_owned()
            }
            Self::Http2(error) => iter::successors(error.source(), |error| (*error).source())
                .fold(error.to_string(), |text, source| {
                    format!("{text}: {source}")
                }),
            Self::Health(status) => format!("it does not report its health: {}", status.message()),
        }
    }
}
