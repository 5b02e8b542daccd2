//! Deadlines for what a connection's peer has to do: send the head of a request, read an answer.
//!
//! hyper has one timer for both "no request yet" and "half a request head". A balancer keeps idle
//! connections open for a minute and must not find them closed under its next request, whereas half
//! a head for a minute is an attack. So hyper's timer bounds idleness, and this stream bounds the
//! head: from its first byte (from the accept, for the first request) to the call of the service.
//! hyper has no timer for a peer who does not read its answers, and so would wait for ever.

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

pub(crate) struct ConnectionDeadlines<S> {
    stream: S,
    in_request: InRequest,
    head_limit: Duration,
    write_limit: Duration,
    /// Set while a head is under way.
    head: Deadline,
    /// Set while the peer takes nothing of an answer.
    write: Deadline,
}

/// A timer that may be off.
#[derive(Default)]
struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    fn set(&mut self, limit: Duration) {
        if self.0.is_none() {
            self.0 = Some(Box::pin(sleep_until(Instant::now() + limit)));
        }
    }

    fn clear(&mut self) {
        self.0 = None;
    }

    /// Fails when the time is over; otherwise the task is woken when it is.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let is_over = self.0.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
        if is_over { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl<S> ConnectionDeadlines<S> {
    pub(crate) fn new(
        stream: S,
        in_request: InRequest,
        head_limit: Duration,
        write_limit: Duration,
    ) -> Self {
        let mut head = Deadline::default();
        head.set(head_limit);
        Self { stream, in_request, head_limit, write_limit, head, write: Deadline::default() }
    }
}

impl<S: Unpin> ConnectionDeadlines<S> {
    /// Passes on what the stream says of an answer, with a timer for as long as it says "wait".
    fn write<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), cx);
        if written.is_ready() {
            self.write.clear();
        } else {
            self.write.set(self.write_limit);
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
            this.head.set(this.head_limit);
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

    const HEAD: Duration = Duration::from_secs(10);
    const WRITE: Duration = Duration::from_secs(30);

    fn connection() -> (DuplexStream, ConnectionDeadlines<DuplexStream>, InRequest) {
        let (client, server) = duplex(8);
        let in_request = InRequest::default();
        (client, ConnectionDeadlines::new(server, in_request.clone(), HEAD, WRITE), in_request)
    }

    #[tokio::test(start_paused = true)]
    async fn half_a_head_is_not_waited_for() {
        let (mut client, mut server, _) = connection();
        let start = Instant::now();
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
        let error = server.read(&mut [0; 8]).await.expect_err("no more comes");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), HEAD);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_under_way_and_the_time_after_it_have_no_head_deadline() {
        let (mut client, mut server, in_request) = connection();
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
        in_request.set(true);
        advance(HEAD * 2).await;
        client.write_all(b"body").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 4);
        in_request.set(false);
        advance(HEAD * 2).await;
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_who_does_not_read_is_not_waited_for() {
        let (_client, mut server, _) = connection();
        let start = Instant::now();
        let error = server.write_all(&[0; 9]).await.expect_err("eight fit");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), WRITE);
    }
}
