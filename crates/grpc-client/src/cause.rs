//! Why a replica cannot be reached, and the log line about it.

use crate::discovery::ServiceInfo;
use rolegate_grpc_tls::tls_problem;
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as _,
    fmt, io,
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tonic::Status;

/// A failed attempt to connect.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// No stream: TCP or the TLS handshake failed.
    Stream(io::Error),
    /// No HTTP/2 on the stream.
    Http2(hyper::Error),
    /// No health status on the connection.
    Health(Status),
}

impl ConnectError {
    /// Whether nothing listens at the address.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Stream(error) if error.kind() == io::ErrorKind::ConnectionRefused)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(error) => match (tls_problem(error), error.kind()) {
                (Some(problem), _) => formatter.write_str(&problem),
                (None, io::ErrorKind::Other | io::ErrorKind::InvalidData) => error.fmt(formatter),
                (None, kind) => kind.fmt(formatter),
            },
            Self::Http2(error) => {
                error.fmt(formatter)?;
                let mut source = error.source();
                while let Some(error) = source {
                    write!(formatter, ": {error}")?;
                    source = error.source();
                }
                Ok(())
            }
            Self::Health(status) => write!(formatter, "it reports no health: {}", status.message()),
        }
    }
}

/// What is not logged again until the replica was reached: reasons, by program and address. Shared by all
/// channels of this process.
type Logged = BTreeMap<(&'static str, SocketAddr), BTreeSet<String>>;

static LOGGED: Mutex<Logged> = Mutex::new(BTreeMap::new());

/// Of one replica: an error of a library may contain a number that changes.
const MAX_REASONS: usize = 8;

/// Logs why a replica cannot be reached, once for each reason.
pub(crate) fn log(service: ServiceInfo, address: SocketAddr, is_encrypted: bool, cause: String) {
    let program = service.program;
    let mut logged = logged();
    let reasons = logged.entry((program, address)).or_default();
    if reasons.contains(&cause) || reasons.len() == MAX_REASONS {
        return;
    }
    if is_encrypted && cause != io::ErrorKind::ConnectionRefused.to_string() {
        tracing::warn!(%address, cause, "no secure connection to {program}");
    } else {
        tracing::warn!(%address, cause, "no connection to {program}");
    }
    reasons.insert(cause);
}

/// The replica was reached: the next failure is logged.
pub(crate) fn clear(service: ServiceInfo, address: SocketAddr) {
    if forget(service, address) {
        tracing::info!(%address, "connected to {}", service.program);
    }
}

/// Forgets a replica, for instance one that DNS no longer has. Whether it could not be reached.
pub(crate) fn forget(service: ServiceInfo, address: SocketAddr) -> bool {
    logged().remove(&(service.program, address)).is_some()
}

fn logged() -> MutexGuard<'static, Logged> {
    LOGGED.lock().unwrap_or_else(PoisonError::into_inner)
}
