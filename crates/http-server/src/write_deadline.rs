//! A deadline for clients to read their response, which hyper lacks.

use crate::memory_budget::HeldMemory;
use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::AsyncWrite,
    time::{Instant, Sleep, sleep},
};

/// For a client to accept the next part of a response.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Likewise, if the response holds memory for which others wait.
const CONTENDED_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes per second that a client must accept of such a response on average, after that time.
const MIN_WRITE_RATE: f64 = 64.0 * 1024.0;

/// The response of a connection that holds memory; shared with its service.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldResponse(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether there is one: cheaper to ask.
    is_held: AtomicBool,
    response: Mutex<Option<Progress>>,
}

#[derive(Debug)]
struct Progress {
    memory: HeldMemory,
    begun: Instant,
    written: u64,
}

impl HeldResponse {
    /// Notes whether the next response holds memory.
    pub(crate) fn set(&self, memory: Option<HeldMemory>) {
        if memory.is_some() || self.0.is_held.load(Ordering::Relaxed) {
            self.0.is_held.store(memory.is_some(), Ordering::Relaxed);
            let begin = |memory| Progress { memory, begun: Instant::now(), written: 0 };
            *self.0.response.lock().unwrap_or_else(PoisonError::into_inner) = memory.map(begin);
        }
    }

    /// Whether others wait for the memory of a response that the client reads slowly. The client has
    /// accepted `bytes` more.
    fn delays_others(&self, bytes: usize, is_stalled: bool) -> bool {
        if !self.0.is_held.load(Ordering::Relaxed) {
            return false;
        }
        let mut response = self.0.response.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(response) = &mut *response else { return false };
        response.written += bytes as u64;
        #[expect(clippy::cast_precision_loss, reason = "no response has 2^52 bytes")]
        let expected = Duration::from_secs_f64(response.written as f64 / MIN_WRITE_RATE);
        let is_slow = response.begun.elapsed() > CONTENDED_WRITE_TIMEOUT + expected;
        (is_stalled || is_slow) && response.memory.is_contended()
    }
}

#[derive(Debug)]
pub(crate) struct WriteDeadline<W> {
    writer: W,
    held: HeldResponse,
    /// Since when the client accepts nothing, and the time to look again.
    stalled: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<W> WriteDeadline<W> {
    pub(crate) fn new(writer: W, held: HeldResponse) -> Self {
        Self { writer, held, stalled: None }
    }

    fn observe(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = written {
            self.stalled = None;
            if self.held.delays_others(*result.as_ref().unwrap_or(&0), false) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            return Poll::Ready(result);
        }
        let (since, timer) = self
            .stalled
            .get_or_insert_with(|| (Instant::now(), Box::pin(sleep(CONTENDED_WRITE_TIMEOUT))));
        while timer.as_mut().poll(cx).is_ready() {
            if since.elapsed() >= WRITE_TIMEOUT || self.held.delays_others(0, true) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            timer.as_mut().reset(Instant::now() + CONTENDED_WRITE_TIMEOUT);
        }
        Poll::Pending
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<W> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.writer).poll_write(cx, bytes);
        this.observe(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.writer).poll_write_vectored(cx, slices);
        this.observe(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.writer.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().writer).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().writer).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::{CONTENDED_WRITE_TIMEOUT, HeldResponse, WRITE_TIMEOUT, WriteDeadline};
    use crate::memory_budget::{HeldMemory, MemoryBudget};
    use http::Extensions;
    use std::{io::ErrorKind, time::Duration};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
        time::{Instant, sleep},
    };

    fn connection() -> (DuplexStream, WriteDeadline<DuplexStream>, HeldResponse) {
        let (client, server) = duplex(8);
        let held = HeldResponse::default();
        (client, WriteDeadline::new(server, held.clone()), held)
    }

    async fn time_until_closed(mut server: WriteDeadline<DuplexStream>) -> Duration {
        let start = Instant::now();
        let error = server.write_all(&[0; 1024]).await.expect_err("8 bytes fit");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        start.elapsed()
    }

    /// The mark of a response that holds all memory, for which another request waits.
    async fn contended(name: &'static str) -> HeldMemory {
        let budget = MemoryBudget::new(name, 2, Duration::from_mins(5));
        let mut response = Extensions::new();
        let held = (budget.reserve(1).await.expect("free"), budget.reserve(1).await.expect("free"));
        held.0.mark(&mut response);
        tokio::spawn(async move {
            budget.reserve(1).await;
            drop(held);
        });
        tokio::task::yield_now().await;
        response.remove().expect("a mark")
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_times_out() {
        let (_client, server, _) = connection();
        assert_eq!(time_until_closed(server).await, WRITE_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn it_times_out_early_if_others_wait_for_the_memory_that_it_holds() {
        let (_client, server, held) = connection();
        held.set(Some(contended("test-stalled").await));
        assert_eq!(time_until_closed(server).await, CONTENDED_WRITE_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn so_does_a_client_that_reads_a_few_bytes_again_and_again() {
        let (mut client, server, held) = connection();
        held.set(Some(contended("test-drip").await));
        tokio::spawn(async move {
            while client.read_exact(&mut [0]).await.is_ok() {
                sleep(CONTENDED_WRITE_TIMEOUT / 2).await;
            }
        });
        assert!(time_until_closed(server).await < CONTENDED_WRITE_TIMEOUT * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_response_without_memory_has_the_usual_time() {
        let (_client, server, held) = connection();
        held.set(Some(contended("test-later").await));
        held.set(None);
        assert_eq!(time_until_closed(server).await, WRITE_TIMEOUT);
    }
}
