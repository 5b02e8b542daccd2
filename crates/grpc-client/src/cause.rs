//! Why a replica cannot be reached, and the log line about it.

use parking_lot::Mutex;
use rolegate_grpc_tls::tls_problem;
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as _,
    io, iter,
    net::SocketAddr,
};
use tonic::Status;

#[derive(Debug)]
pub(crate) enum ConnectError {
    /// No stream: TCP or the TLS handshake failed.
    Stream(io::Error),
    /// No HTTP/2 on the stream.
    Http2(io::Error),
    Health(Status),
}

impl ConnectError {
    /// Whether nothing listens at the address.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Stream(error) if error.kind() == io::ErrorKind::ConnectionRefused)
    }

    pub(crate) fn describe(&self, is_encrypted: bool) -> String {
        match self {
            Self::Stream(error) => tls_problem(error).unwrap_or_else(|| match error.kind() {
                io::ErrorKind::Other | io::ErrorKind::InvalidData => error.to_string(),
                kind => kind.to_string(),
            }),
            // A port with TLS answers plain text by bytes that are no HTTP/2 and closes, which fails the
            // connection in one way or another.
            Self::Http2(_) if !is_encrypted => {
                "it speaks no HTTP/2; if this is a port with TLS, use https://".to_owned()
            }
            Self::Http2(error) => iter::successors(error.source(), |error| (*error).source())
                .fold(error.to_string(), |text, source| {
                    format!("{text}: {source}")
                }),
            Self::Health(status) => format!("it reports no health: {}", status.message()),
        }
    }
}

/// The program of a replica, and the address.
pub(crate) type Site = (&'static str, SocketAddr);

/// Reasons that are not logged again until the replica was reached. Shared by all channels of this process.
static LOGGED: Mutex<BTreeMap<Site, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Of one replica: an error of a library may contain a number that changes.
const MAX_REASONS: usize = 8;

/// Logs why a replica cannot be reached, once for each reason.
pub(crate) fn log((program, address): Site, is_encrypted: bool, error: &ConnectError) {
    let cause = error.describe(is_encrypted);
    let mut logged = LOGGED.lock();
    let reasons = logged.entry((program, address)).or_default();
    if reasons.contains(&cause) || reasons.len() == MAX_REASONS {
        return;
    }
    if is_encrypted && !error.is_refused() {
        tracing::warn!(%address, cause, "no secure connection to {program}");
    } else {
        tracing::warn!(%address, cause, "no connection to {program}");
    }
    reasons.insert(cause);
}

/// Forgets a replica that was reached, or that DNS no longer has: its next failure is logged. Whether one
/// was logged before.
pub(crate) fn forget(site: Site) -> bool {
    LOGGED.lock().remove(&site).is_some()
}
