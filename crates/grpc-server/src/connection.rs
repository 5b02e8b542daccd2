//! Connections as tonic serves them: over TCP, with a deadline until the HTTP/2 preface, or in memory.

use crate::unfinished::Unfinished;
use rolegate_http_server::{
    listener::{Listener, Permit, Stream},
    refused_peer,
};
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
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::either::Either;
use tonic::transport::server::Connected;

/// Handshakes in progress count too.
pub(crate) const MAX_CONNECTIONS: usize = 4096;

/// From the accept to the end of the HTTP/2 preface, TLS handshake included.
pub(crate) const PREFACE_TIMEOUT: Duration = Duration::from_secs(10);

/// The HTTP/2 connection preface in bytes (RFC 9113, section 3.4). After it the keep-alive pings of
/// HTTP/2 watch the client.
const PREFACE_LEN: usize = 24;

/// The first byte of a TLS handshake (RFC 8446, section 5.1), which no preface has.
const TLS_HANDSHAKE: u8 = 0x16;

/// The other end of a connection; in the extensions of every call.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    InProcess,
    Tcp {
        address: IpAddr,
        /// Of the client, verified.
        certificate: Option<Arc<CertificateDer<'static>>>,
        unfinished: Unfinished,
    },
}

#[derive(Debug)]
pub(crate) struct Connection {
    stream: Either<Stream, DuplexStream>,
    peer: Peer,
    /// Missing bytes of the preface and their deadline; `None` after the preface, and in memory.
    preface: Option<(usize, Pin<Box<Sleep>>)>,
    _permit: Option<Permit>,
}

impl Connection {
    /// The preface must be complete at `deadline`, or reads fail.
    fn over_tcp(stream: Stream, address: IpAddr, deadline: Instant, permit: Permit) -> Self {
        // Verified in the handshake; that of the client is the first.
        let certificates = match &stream {
            Either::Left(_) => None,
            Either::Right(tls) => tls.get_ref().1.peer_certificates(),
        };
        let certificate = certificates
            .and_then(|chain| chain.first())
            .cloned()
            .map(Arc::new);
        let unfinished = Unfinished::default();
        Self {
            stream: Either::Left(stream),
            peer: Peer::Tcp {
                address,
                certificate,
                unfinished,
            },
            preface: Some((PREFACE_LEN, Box::pin(sleep_until(deadline)))),
            _permit: Some(permit),
        }
    }

    pub(crate) fn in_memory(stream: DuplexStream) -> Self {
        let stream = Either::Right(stream);
        Self {
            stream,
            peer: Peer::InProcess,
            preface: None,
            _permit: None,
        }
    }
}

/// Accepts connections, until `stopping`. They are ready for tonic.
pub(crate) fn accept(
    mut listener: Listener,
    preface_timeout: Duration,
    stopping: impl Future<Output = ()> + Send + 'static,
) -> ReceiverStream<io::Result<Connection>> {
    let (sender, connections) = mpsc::channel(1);
    tokio::spawn(async move {
        let accepting = async {
            loop {
                let accepted = listener.accept(|| false).await;
                let (address, sender) = (accepted.peer.ip(), sender.clone());
                let deadline = Instant::now() + preface_timeout;
                // A task of its own, so that a slow handshake does not delay other connections.
                tokio::spawn(async move {
                    if let Some((stream, permit)) = accepted.handshake(deadline).await {
                        let connection = Connection::over_tcp(stream, address, deadline, permit);
                        // Fails if the server has stopped.
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
        if let Some((missing, deadline)) = &mut this.preface {
            if *missing == PREFACE_LEN
                && buffer.filled().get(before) == Some(&TLS_HANDSHAKE)
                && let Peer::Tcp { address, .. } = this.peer
            {
                let problem = "it speaks TLS, and this port does not; use http:// there";
                refused_peer::log(address, problem);
            }
            *missing = missing.saturating_sub(buffer.filled().len() - before);
            if *missing == 0 {
                this.preface = None;
            } else if read.is_pending() && deadline.as_mut().poll(cx).is_ready() {
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
