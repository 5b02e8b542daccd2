//! Deadlines of an HTTP/1.1 connection: for a request head to arrive, for a response to be read.
//!
//! hyper has one timer for both an idle connection and an incomplete request head. A load balancer
//! keeps idle connections for a minute, but an incomplete head for a minute is an attack (slowloris).
//! So the timer of hyper bounds idle time, and this stream bounds the head: from its first byte (for
//! the first request from the accept) to the call of the service. hyper has no timer for a client that
//! does not read its response.

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

/// Whether a connection serves a request now: set by its service, read by its stream.
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

pub(crate) struct ConnectionDeadlines<S> {
    stream: S,
    in_request: InRequest,
    head_timeout: Duration,
    write_timeout: Duration,
    /// Runs while a head arrives.
    head: Deadline,
    /// Runs while the peer does not read.
    write: Deadline,
}

/// A timer that may be off.
#[derive(Default)]
struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    fn start(&mut self, timeout: Duration) {
        if self.0.is_none() {
            self.0 = Some(Box::pin(sleep_until(Instant::now() + timeout)));
        }
    }

    fn clear(&mut self) {
        self.0 = None;
    }

    /// Fails after the deadline; before it, registers the task to be woken at the deadline.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let is_over = self.0.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
        if is_over { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl<S> ConnectionDeadlines<S> {
    pub(crate) fn new(
        stream: S,
        in_request: InRequest,
        head_timeout: Duration,
        write_timeout: Duration,
    ) -> Self {
        let mut head = Deadline::default();
        head.start(head_timeout);
        Self { stream, in_request, head_timeout, write_timeout, head, write: Deadline::default() }
    }
}

impl<S: Unpin> ConnectionDeadlines<S> {
    /// Runs the timer as long as `write` is pending.
    fn write<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), cx);
        if written.is_ready() {
            self.write.clear();
        } else {
            self.write.start(self.write_timeout);
            self.write.check(cx)?;
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ConnectionDeadlines<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.in_request.get() {
            this.head.clear();
        }
        this.head.check(cx)?;
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        if !this.in_request.get() {
            this.head.start(this.head_timeout);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ConnectionDeadlines<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().write(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().write(cx, AsyncWrite::poll_shutdown)
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionDeadlines, InRequest};
    use std::{io::ErrorKind, time::Duration};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        time::{Instant, advance},
    };

    const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
    const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

    fn connection() -> (DuplexStream, ConnectionDeadlines<DuplexStream>, InRequest) {
        let (client, server) = duplex(8);
        let in_request = InRequest::default();
        (
            client,
            ConnectionDeadlines::new(server, in_request.clone(), HEAD_TIMEOUT, WRITE_TIMEOUT),
            in_request,
        )
    }

    #[tokio::test(start_paused = true)]
    async fn an_incomplete_head_times_out() {
        let (mut client, mut server, _) = connection();
        let start = Instant::now();
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
        let error = server.read(&mut [0; 8]).await.expect_err("incomplete");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), HEAD_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_request_and_an_idle_connection_have_no_head_deadline() {
        let (mut client, mut server, in_request) = connection();
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
        in_request.set(true);
        advance(HEAD_TIMEOUT * 2).await;
        client.write_all(b"body").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 4);
        in_request.set(false);
        advance(HEAD_TIMEOUT * 2).await;
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_times_out() {
        let (_client, mut server, _) = connection();
        let start = Instant::now();
        let error = server.write_all(&[0; 9]).await.expect_err("8 bytes fit");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), WRITE_TIMEOUT);
    }
}
