//! A connection as tonic serves it, from TCP or from this process.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep_until},
};
use tonic::transport::server::Connected;

/// The HTTP/2 connection preface in bytes (RFC 9113, section 3.4). After it the keep-alive pings of
/// HTTP/2 watch the client.
pub(crate) const PREFACE_LEN: usize = 24;

/// In the extensions of every call from this process and of no other call. A missing peer address
/// is no such mark: a socket whose peer has closed it has none either.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcessPeer;

/// A stream, what calls over it know of the peer, and what bounds it.
#[derive(Debug)]
pub(crate) struct Connection<S, I = <S as Connected>::ConnectInfo> {
    stream: S,
    info: I,
    /// Missing bytes of the preface and their deadline; `None` after the preface.
    preface: Option<(usize, Pin<Box<Sleep>>)>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl<S: Connected> Connection<S> {
    /// The preface must be complete at `deadline`, or reads fail.
    pub(crate) fn new(stream: S, deadline: Instant, permit: Option<OwnedSemaphorePermit>) -> Self {
        let preface = Some((PREFACE_LEN, Box::pin(sleep_until(deadline))));
        Self { info: stream.connect_info(), stream, preface, _permit: permit }
    }
}

impl Connection<DuplexStream, InProcessPeer> {
    /// A stream whose other end is in this process.
    pub(crate) fn in_process(stream: DuplexStream) -> Self {
        Self { stream, info: InProcessPeer, preface: None, _permit: None }
    }
}

impl<S, I: Clone + Send + Sync + 'static> Connected for Connection<S, I> {
    type ConnectInfo = I;

    fn connect_info(&self) -> I {
        self.info.clone()
    }
}

impl<S: AsyncRead + Unpin, I: Unpin> AsyncRead for Connection<S, I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if let Some((missing, deadline)) = &mut this.preface {
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

impl<S: AsyncWrite + Unpin, I: Unpin> AsyncWrite for Connection<S, I> {
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
