//! A deadline for the head of each request.
//!
//! hyper has one timer for both "no request yet" and "half a request head". A balancer keeps idle
//! connections open for a minute and must not find them closed under its next request, whereas half
//! a head for a minute is an attack. So hyper's timer bounds idleness, and this stream bounds the
//! head: from its first byte (from the accept, for the first request) to the call of the service.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

/// Whether a request is being answered on a connection: set by its service, read by its stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct InRequest(Arc<AtomicBool>);

impl InRequest {
    pub(crate) fn set(&self, in_request: bool) {
        self.0.store(in_request, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct HeadDeadline<S> {
    stream: S,
    in_request: InRequest,
    limit: Duration,
    // Some while a head is under way.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> HeadDeadline<S> {
    pub(crate) fn new(stream: S, in_request: InRequest, limit: Duration) -> Self {
        let deadline = Some(Box::pin(sleep_until(Instant::now() + limit)));
        Self { stream, in_request, limit, deadline }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadDeadline<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.in_request.get() {
            this.deadline = None;
        }
        if let Some(deadline) = &mut this.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        if !this.in_request.get() && this.deadline.is_none() {
            this.deadline = Some(Box::pin(sleep_until(Instant::now() + this.limit)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadDeadline<S> {
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
