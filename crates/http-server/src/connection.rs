//! The stream of one HTTP/1.1 connection. It enforces the deadlines of request heads and of clients that read slowly,
//! and reports what the connection does to its [`Activity`].

use crate::open_connections::Activity;
use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take},
    time::{Instant, Sleep, sleep},
};

/// The time from the first byte of a request head to its end.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The time in which a client must accept the rest of what is buffered, or [`MIN_PROGRESS`] of it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// [`WRITE_TIMEOUT`] while others wait for the memory of the response.
const CONTENDED_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// The bytes that a client must accept within these times. A client that accepts fewer reads only to keep the memory of
/// its response occupied.
const MIN_PROGRESS: usize = 64 * 1024;

/// The bytes of one read. hyper begins with 8 KiB and doubles its buffer after a read that fills it.
const MAX_READ: u64 = 8 * 1024 - 1;

/// The stream of a connection, under deadlines.
///
/// hyper has one timer for both an idle connection and an incomplete request head. A load balancer keeps
/// idle connections for a minute, but an incomplete head for a minute is an attack (slowloris). So the
/// timer of hyper bounds idle time, and this stream bounds the head: from its first byte (for the first
/// request from the accept) to the call of the service. For clients that do not read, hyper has none.
pub(crate) struct GuardedStream<S> {
    stream: Take<S>,
    activity: Arc<Activity>,
    /// Runs while a head arrives.
    head: Option<Pin<Box<Sleep>>>,
    /// Runs from the first byte that the client does not accept until it has accepted enough.
    write: Option<PendingWrite>,
}

/// A write of which the client has not accepted enough.
struct PendingWrite {
    since: Instant,
    accepted: usize,
    next_check: Pin<Box<Sleep>>,
}

impl PendingWrite {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            accepted: 0,
            next_check: Box::pin(sleep(CONTENDED_WRITE_TIMEOUT)),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> GuardedStream<S> {
    pub(crate) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self {
            stream: stream.take(MAX_READ),
            activity,
            head: Some(Box::pin(sleep(HEAD_TIMEOUT))),
            write: None,
        }
    }

    fn stream(&mut self) -> Pin<&mut S> {
        Pin::new(self.stream.get_mut())
    }

    /// Passes the outcome of a write on, or an error if the client accepts too little.
    fn require_progress(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.activity.set_blocked(written.is_pending());
        if let Poll::Ready(outcome) = written {
            if let (Ok(bytes), Some(write)) = (&outcome, &mut self.write) {
                write.accepted = write.accepted.saturating_add(*bytes);
            }
            self.write.take_if(|write| write.accepted >= MIN_PROGRESS);
            return Poll::Ready(outcome);
        }
        let write = self.write.get_or_insert_with(PendingWrite::new);
        loop {
            ready!(write.next_check.as_mut().poll(cx));
            if write.since.elapsed() >= WRITE_TIMEOUT || self.activity.delays_others() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            write
                .next_check
                .as_mut()
                .reset(Instant::now() + CONTENDED_WRITE_TIMEOUT);
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.activity.has_request() {
            this.head = None;
        }
        if let Some(timer) = &mut this.head
            && timer.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        this.stream.set_limit(MAX_READ);
        let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, buffer) else {
            // hyper writes what it has before it waits for the next head.
            this.activity.begin_idle();
            return Poll::Pending;
        };
        read?;
        if !this.activity.is_serving() {
            if buffer.filled().len() > before && !this.activity.begin_head() {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            this.head
                .get_or_insert_with(|| Box::pin(sleep(HEAD_TIMEOUT)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.stream().poll_write(cx, bytes);
        this.require_progress(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.stream().poll_write_vectored(cx, slices);
        this.require_progress(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.get_ref().is_write_vectored()
    }

    /// Called when all that is buffered was written.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = this.stream().poll_flush(cx).map_ok(|()| MIN_PROGRESS);
        this.require_progress(cx, flushed).map_ok(|_all| ())
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream().poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
