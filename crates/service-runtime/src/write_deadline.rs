//! A deadline for clients to read their response, which hyper lacks.

use crate::memory_budget::MemoryBudget;
use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::{Arc, OnceLock},
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

/// The budget of which responses of a connection hold memory; shared with its service.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldMemory(Arc<OnceLock<MemoryBudget>>);

impl HeldMemory {
    /// From now on, responses hold memory of `budget`.
    pub(crate) fn set(&self, budget: MemoryBudget) {
        let _ = self.0.set(budget);
    }

    fn is_contended(&self) -> bool {
        self.0.get().is_some_and(MemoryBudget::is_contended)
    }
}

#[derive(Debug)]
pub(crate) struct WriteDeadline<W> {
    writer: W,
    held: HeldMemory,
    /// Since when the client accepts nothing, and the time to look again.
    stalled: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<W> WriteDeadline<W> {
    pub(crate) fn new(writer: W, held: HeldMemory) -> Self {
        Self { writer, held, stalled: None }
    }

    fn observe<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let (since, timer) = self
            .stalled
            .get_or_insert_with(|| (Instant::now(), Box::pin(sleep(CONTENDED_WRITE_TIMEOUT))));
        while timer.as_mut().poll(cx).is_ready() {
            if since.elapsed() >= WRITE_TIMEOUT || self.held.is_contended() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            timer.as_mut().reset(Instant::now() + CONTENDED_WRITE_TIMEOUT);
        }
        written
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
    use super::{CONTENDED_WRITE_TIMEOUT, HeldMemory, WRITE_TIMEOUT, WriteDeadline};
    use crate::memory_budget::MemoryBudget;
    use std::{io::ErrorKind, time::Duration};
    use tokio::{
        io::{AsyncWriteExt as _, DuplexStream, duplex},
        time::Instant,
    };

    fn connection() -> (DuplexStream, WriteDeadline<DuplexStream>, HeldMemory) {
        let (client, server) = duplex(8);
        let held = HeldMemory::default();
        (client, WriteDeadline::new(server, held.clone()), held)
    }

    async fn time_until_closed(mut server: WriteDeadline<DuplexStream>) -> Duration {
        let start = Instant::now();
        let error = server.write_all(&[0; 9]).await.expect_err("8 bytes fit");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_times_out() {
        let (_client, server, _) = connection();
        assert_eq!(time_until_closed(server).await, WRITE_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn it_times_out_early_if_others_wait_for_the_memory_that_it_holds() {
        let budget = MemoryBudget::new("test-write-deadline", 2);
        let (_client, server, held) = connection();
        held.set(budget.clone());
        let _held = (budget.reserve(1).await, budget.reserve(1).await);
        let waits = tokio::spawn(async move { budget.reserve(1).await.is_none() });
        assert_eq!(time_until_closed(server).await, CONTENDED_WRITE_TIMEOUT);
        assert!(waits.await.expect("no panic"));
    }
}
