//! A TCP connection as tonic serves it.

use crate::unfinished::Unfinished;
use rolegate_http_server::{incoming::Permit, refused_peer};
use std::{
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};
use tonic::transport::server::Connected;

/// The HTTP/2 connection preface in bytes (RFC 9113, section 3.4). After it the keep-alive pings of
/// HTTP/2 watch the client.
pub(crate) const PREFACE_LEN: usize = 24;

/// The first byte of a TLS handshake (RFC 8446, section 5.1), which no preface has.
const TLS_HANDSHAKE: u8 = 0x16;

/// In the extensions of every call over TCP.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionInfo<P> {
    pub(crate) peer: P,
    pub(crate) unfinished: Unfinished,
}

#[cfg(test)]
impl<P> ConnectionInfo<P> {
    pub(crate) fn of(peer: P) -> Self {
        Self { peer, unfinished: Unfinished::default() }
    }
}

/// A stream and what bounds it.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    stream: S,
    peer: IpAddr,
    /// Missing bytes of the preface and their deadline; `None` after the preface.
    preface: Option<(usize, Pin<Box<Sleep>>)>,
    unfinished: Unfinished,
    _permit: Permit,
}

impl<S> Connection<S> {
    /// The preface must be complete at `deadline`, or reads fail.
    pub(crate) fn new(stream: S, peer: IpAddr, deadline: Instant, permit: Permit) -> Self {
        let preface = Some((PREFACE_LEN, Box::pin(sleep_until(deadline))));
        Self { stream, peer, preface, unfinished: Unfinished::default(), _permit: permit }
    }
}

impl<S: Connected> Connected for Connection<S> {
    type ConnectInfo = ConnectionInfo<S::ConnectInfo>;

    fn connect_info(&self) -> Self::ConnectInfo {
        let (peer, unfinished) = (self.stream.connect_info(), self.unfinished.clone());
        ConnectionInfo { peer, unfinished }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if let Some((missing, deadline)) = &mut this.preface {
            if *missing == PREFACE_LEN && buffer.filled().get(before) == Some(&TLS_HANDSHAKE) {
                let problem = "it speaks TLS, and this port does not; use http:// there";
                refused_peer::log(this.peer, problem);
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
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
