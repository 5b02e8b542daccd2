//! Accepts the connections that tonic serves: over TCP, with a deadline for the HTTP/2 preface, or in memory.

use crate::unfinished_messages::{ConnectionQuota, MessageQuota};
use rolegate_http_server::{
    listener::{Listener, Permit, ReadyConnection, Stream},
    refused_peer,
};
use rolegate_program::cidr_set::CidrSet;
use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    sync::mpsc,
    time::{Instant, Sleep, sleep_until},
};
use tokio_rustls::rustls::{
    client::verify_server_name,
    pki_types::{CertificateDer, ServerName},
    server::ParsedCertificate,
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::either::Either;
use tonic::transport::server::Connected;

/// The maximum number of connections of a listener, including those whose handshake is in progress.
pub(crate) const MAX_CONNECTIONS: usize = 4096;

/// The maximum time from the accept to the end of the HTTP/2 preface, including the TLS handshake.
pub(crate) const PREFACE_TIMEOUT: Duration = Duration::from_secs(10);

/// The length of the HTTP/2 connection preface in bytes (RFC 9113, section 3.4). After the preface, the
/// keep-alive pings of HTTP/2 watch the client.
const PREFACE_LEN: usize = 24;

/// The first byte of a TLS handshake (RFC 8446, section 5.1). No HTTP/2 preface begins with it.
const TLS_HANDSHAKE: u8 = 0x16;

/// The client at the other end of a connection. tonic adds it to the extensions of every call.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    InProcess,
    Tcp {
        address: IpAddr,
        /// The verified certificate of the client; `None` for a client without one.
        certificate: Option<Arc<CertificateDer<'static>>>,
        quota: ConnectionQuota,
    },
}

impl Peer {
    /// Returns whether the client may report client address, request id and trace. Such a client has an address in
    /// a trusted network, has a verified certificate, or is in this process.
    pub(crate) fn is_trusted(&self, trusted: &CidrSet) -> bool {
        match self {
            Self::InProcess => true,
            Self::Tcp {
                address,
                certificate,
                ..
            } => certificate.is_some() || trusted.contains(*address),
        }
    }

    /// Returns the address of the client; `None` for a client in this process.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::InProcess => None,
            Self::Tcp { address, .. } => Some(*address),
        }
    }

    /// Returns the first of these DNS names that is in the verified certificate of the client. A client in this
    /// process has a fixed name of its own. Returns `None` for any other client.
    pub(crate) fn name_among(&self, names: &[String]) -> Option<String> {
        let certificate = match self {
            Self::InProcess => return Some("in this process".to_owned()),
            Self::Tcp { certificate, .. } => certificate.as_deref()?,
        };
        let certificate = ParsedCertificate::try_from(certificate).ok()?;
        let is_in_certificate = |name: &str| match ServerName::try_from(name) {
            Ok(name) => verify_server_name(&certificate, &name).is_ok(),
            Err(_) => false,
        };
        let mut names = names.iter();
        names.find(|name| is_in_certificate(name)).cloned()
    }

    /// Returns the memory quota of a message while it arrives, or `None` for a caller in this process. A client
    /// with a verified certificate has no quota by address.
    pub(crate) fn message_quota(&self) -> Option<MessageQuota> {
        match self {
            Self::InProcess => None,
            Self::Tcp {
                address,
                certificate,
                quota,
            } => Some(MessageQuota {
                connection: quota.clone(),
                address: match certificate {
                    Some(_) => None,
                    None => Some(*address),
                },
            }),
        }
    }

    fn log_unexpected_tls(&self) {
        if let Self::Tcp { address, .. } = self {
            let problem = "it speaks TLS, and this port does not; use http:// there";
            refused_peer::log(*address, problem);
        }
    }
}

/// Parses a DNS name that a client certificate may have. The error is a message about a setting.
pub fn certificate_name(text: &str) -> Result<String, &'static str> {
    let name = ServerName::try_from(text).map_err(|_| "must be a DNS name")?;
    Ok(name.to_str().into_owned())
}

#[derive(Debug)]
pub(crate) struct Connection {
    stream: Either<Stream, DuplexStream>,
    peer: Peer,
    /// The part of the preface that has not arrived; `None` after the preface, and for a stream in memory.
    preface: Option<PendingPreface>,
    _permit: Option<Permit>,
}

/// A preface that has not arrived completely, and its deadline.
#[derive(Debug)]
struct PendingPreface {
    missing_bytes: usize,
    deadline: Pin<Box<Sleep>>,
}

impl Connection {
    /// Wraps a TCP connection. Reads fail if the preface is not complete at `deadline`.
    fn over_tcp(ready: ReadyConnection, address: IpAddr, deadline: Instant) -> Self {
        // The certificates were verified in the handshake. The first one is the client's own.
        let certificates = match &ready.stream {
            Either::Left(_plain) => None,
            Either::Right(tls) => {
                let (_, session) = tls.get_ref();
                session.peer_certificates()
            }
        };
        let certificate = certificates.and_then(|chain| chain.first());
        Self {
            peer: Peer::Tcp {
                address,
                certificate: certificate.cloned().map(Arc::new),
                quota: ConnectionQuota::default(),
            },
            stream: Either::Left(ready.stream),
            preface: Some(PendingPreface {
                missing_bytes: PREFACE_LEN,
                deadline: Box::pin(sleep_until(deadline)),
            }),
            _permit: Some(ready.permit),
        }
    }

    pub(crate) fn in_memory(stream: DuplexStream) -> Self {
        Self {
            stream: Either::Right(stream),
            peer: Peer::InProcess,
            preface: None,
            _permit: None,
        }
    }
}

/// Accepts connections until `stopping` completes, performs their TLS handshakes, and returns the connections
/// as a stream for tonic. A connection whose handshake fails is dropped.
pub(crate) fn accept(
    mut listener: Listener,
    preface_timeout: Duration,
    stopping: impl Future<Output = ()> + Send + 'static,
) -> ReceiverStream<io::Result<Connection>> {
    let (sender, connections) = mpsc::channel(1);
    tokio::spawn(async move {
        let accepting = async {
            loop {
                let accepted = listener.accept(|| {}).await;
                let address = accepted.peer.ip();
                let sender = sender.clone();
                let deadline = Instant::now() + preface_timeout;
                // Each handshake runs in its own task, so that a slow one does not delay other connections.
                tokio::spawn(async move {
                    if let Some(ready) = accepted.handshake(deadline).await {
                        let connection = Connection::over_tcp(ready, address, deadline);
                        // Sending fails if the server has stopped.
                        let _ = sender.send(Ok(connection)).await;
                    }
                });
            }
        };
        tokio::select! {
            () = accepting => {}
            () = stopping => {}
            () = sender.closed() => {}
        }
    });
    ReceiverStream::new(connections)
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if let Some(preface) = &mut this.preface {
            let received = &buffer.filled()[before..];
            if preface.missing_bytes == PREFACE_LEN && received.first() == Some(&TLS_HANDSHAKE) {
                this.peer.log_unexpected_tls();
            }
            preface.missing_bytes = preface.missing_bytes.saturating_sub(received.len());
            if preface.missing_bytes == 0 {
                this.preface = None;
            } else if read.is_pending() && preface.deadline.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
