//! Why a replica cannot be reached, in words, and the log line about it.

use crate::{connection::Connector, discovery::ServiceInfo};
use rolegate_grpc_tls::client_problem;
use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{LazyLock, Mutex, PoisonError},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::{Code, Status};

/// The preface of a client and its empty SETTINGS (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A failed attempt to connect.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// No stream: TCP or the TLS handshake failed.
    Stream(io::Error),
    /// A stream without HTTP/2, gRPC or a health status on it.
    Call(Status),
}

/// What failed, without details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Stream(io::ErrorKind),
    Call(Code),
}

impl ConnectError {
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            Self::Stream(error) => FailureKind::Stream(error.kind()),
            Self::Call(status) => FailureKind::Call(status.code()),
        }
    }

    /// Whether nothing listens at the address.
    pub(crate) fn is_refused(&self) -> bool {
        self.kind() == FailureKind::Stream(io::ErrorKind::ConnectionRefused)
    }
}

impl From<Status> for ConnectError {
    fn from(status: Status) -> Self {
        Self::Call(status)
    }
}

/// The reason in words. HTTP/2 does not say what ended a connection, so that one more is opened to see
/// the first bytes of the answer.
pub(crate) async fn explain(error: &ConnectError, connector: &Connector) -> String {
    match error {
        ConnectError::Stream(error) => describe(error),
        ConnectError::Call(status) => match first_bytes(connector).await {
            Err(error) => describe(&error),
            // A TLS alert (RFC 8446, section 5.1), or a handshake.
            Ok([0x15 | 0x16, 0x03, ..]) => "it speaks TLS; use https://".to_owned(),
            Ok([b'H', b'T', b'T', b'P', ..]) => "it speaks HTTP/1.1 and no gRPC".to_owned(),
            Ok([0, 0, 0, 0]) => "it closed the connection".to_owned(),
            Ok(_) => format!("it reports no health: {}", status.message()),
        },
    }
}

/// The start of the answer to the preface; zeros if there is none.
async fn first_bytes(connector: &Connector) -> io::Result<[u8; 4]> {
    let mut stream = connector().await?;
    stream.write_all(PREFACE).await?;
    stream.flush().await?;
    // The fourth byte of the SETTINGS of a server is their type, 4: they are not zeros.
    let (mut bytes, mut length) = ([0; 4], 0);
    while length < bytes.len() {
        match stream.read(&mut bytes[length..]).await? {
            0 => break,
            read => length += read,
        }
    }
    Ok(if length == bytes.len() { bytes } else { [0; 4] })
}

fn describe(error: &io::Error) -> String {
    client_problem(error).unwrap_or_else(|| match error.kind() {
        io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        io::ErrorKind::Other | io::ErrorKind::InvalidData => error.to_string(),
        kind => kind.to_string(),
    })
}

/// A program and its address, and why it cannot be reached. Shared by all channels of this process, so
/// that each reason is logged once.
type Unreachable = HashMap<(&'static str, SocketAddr), String>;

static UNREACHABLE: LazyLock<Mutex<Unreachable>> = LazyLock::new(Mutex::default);

/// Logs why a replica cannot be reached, if that is news.
pub(crate) fn log(service: ServiceInfo, address: SocketAddr, is_encrypted: bool, cause: String) {
    let program = service.program;
    let mut unreachable = UNREACHABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = unreachable.entry((program, address)).or_default();
    if *known == cause {
        return;
    }
    let refused = io::ErrorKind::ConnectionRefused.to_string();
    if is_encrypted && cause != refused {
        tracing::warn!(%address, cause, "no secure connection to {program}");
    } else {
        tracing::warn!(%address, cause, "no connection to {program}");
    }
    *known = cause;
}

/// The replica was reached: the next failure is news.
pub(crate) fn clear(service: ServiceInfo, address: SocketAddr) {
    let mut unreachable = UNREACHABLE.lock().unwrap_or_else(PoisonError::into_inner);
    if unreachable.remove(&(service.program, address)).is_some() {
        tracing::info!(%address, "connected to {}", service.program);
    }
}
