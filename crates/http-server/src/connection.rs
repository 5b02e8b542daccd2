//! Gives one HTTP/1.1 connection the deadlines that hyper lacks, and records what the connection is doing.
//!
//! [`GuardedStream`] is the stream below hyper. It closes connections whose request head takes too long, or whose client
//! reads a response too slowly. [`Activity`] is the state of the connection, from which the accept loop learns whether
//! it may close the connection to make room for a new one.

use crate::memory_budget::Reservation;
use parking_lot::Mutex;
use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take},
    task::AbortHandle,
    time::{Instant, Sleep, sleep},
};

/// The maximum time from the first byte of a request head to its end.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time that a client may take to accept all buffered bytes, or at least [`MIN_PROGRESS`] of them.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Replaces [`WRITE_TIMEOUT`] while other requests wait for the memory that the response holds.
const CONTENDED_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of bytes that a client must accept before a write times out. A client that accepts fewer is assumed to
/// read only to keep the memory of its response occupied.
const MIN_PROGRESS: usize = 64 * 1024;

/// The maximum number of bytes of one read. hyper begins with a buffer of 8 KiB, and doubles it after a read that fills
/// it; reads that are one byte shorter keep it small.
const MAX_READ: u64 = 8 * 1024 - 1;

/// The state in which a part of a request head has arrived.
const RECEIVING: u64 = 0;
/// The state in which a request is being served.
const SERVING: u64 = 1;
/// The state in which all of the response is in the buffers of the connection.
const SERVED: u64 = 2;
/// The state in which the accept loop is closing the connection.
const CLOSING: u64 = u64::MAX;
/// States from this one on, except [`CLOSING`], are the tick since which the connection is idle.
const FIRST_TICK: u64 = 3;

/// The clock of idle times, which counts ticks. The connections of a listener share it, so that a request only loads a
/// number instead of reading the time.
pub(crate) type Ticks = Arc<AtomicU64>;

/// The activity of one connection.
///
/// The connection itself changes the state. The accept loop makes only one transition, from idle to closing, so a
/// connection that has begun to receive a request is never closed for another one.
#[derive(Debug)]
pub(crate) struct Activity {
    state: AtomicU64,
    /// True while the peer has not taken all of the response.
    is_blocked: AtomicBool,
    /// The reservation of the response's memory, which is dropped when its bytes are written.
    memory: Mutex<Weak<Reservation>>,
    task: OnceLock<AbortHandle>,
    ticks: Ticks,
}

impl Activity {
    pub(crate) fn new(ticks: &Ticks) -> Self {
        Self {
            state: AtomicU64::new(FIRST_TICK + ticks.load(Relaxed)),
            is_blocked: AtomicBool::default(),
            memory: Mutex::default(),
            task: OnceLock::default(),
            ticks: Arc::clone(ticks),
        }
    }

    /// Records that bytes of a request have arrived. Returns `false` if the connection is being closed.
    pub(crate) fn begin_head(&self) -> bool {
        self.begin(RECEIVING)
    }

    /// Records that the request head is complete. Returns `false` if the connection is being closed; the request must
    /// then not be served.
    pub(crate) fn begin_request(&self) -> bool {
        self.begin(SERVING)
    }

    /// Records that all of the response is in the buffers of the connection.
    pub(crate) fn end_request(&self) {
        self.state.store(SERVED, Relaxed);
    }

    /// Records that the connection is idle, if its response is complete. It is called when the stream has written all
    /// bytes that the peer takes, and no byte of a request has arrived.
    pub(crate) fn begin_idle(&self) {
        if self.state.load(Relaxed) == SERVED {
            self.state
                .store(FIRST_TICK + self.ticks.load(Relaxed), Relaxed);
        }
    }

    pub(crate) fn is_serving(&self) -> bool {
        self.state.load(Relaxed) == SERVING
    }

    /// Returns `true` from the first byte of a request head to its end.
    fn is_receiving(&self) -> bool {
        self.state.load(Relaxed) == RECEIVING
    }

    /// Returns `true` while a request is being served, and after that until the connection is idle or a byte of the
    /// next request arrives.
    pub(crate) fn has_request(&self) -> bool {
        matches!(self.state.load(Relaxed), SERVING | SERVED)
    }

    pub(crate) fn set_task(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Relaxed);
    }

    /// Records the memory that the response holds until its bytes are written.
    pub(crate) fn set_memory(&self, memory: Weak<Reservation>) {
        *self.memory.lock() = memory;
    }

    /// Returns `true` if other requests wait for memory that the response still holds.
    pub(crate) fn delays_others(&self) -> bool {
        let memory = self.memory.lock().upgrade();
        memory.is_some_and(|memory| memory.is_contended())
    }

    /// Returns the tick since which the connection is idle; `None` if it is not idle.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        let state = self.state.load(Relaxed);
        let is_idle = (FIRST_TICK..CLOSING).contains(&state) && !self.is_blocked.load(Relaxed);
        is_idle.then_some(state)
    }

    /// Closes the connection if it has been idle since this tick. Returns `true` if it does.
    pub(crate) fn try_close(&self, since: u64) -> bool {
        let is_closing = self.idle_since() == Some(since) && self.change(since, CLOSING);
        if is_closing && let Some(task) = self.task.get() {
            task.abort();
        }
        is_closing
    }

    fn begin(&self, next: u64) -> bool {
        let state = self.state.load(Relaxed);
        state != CLOSING && self.change(state, next)
    }

    /// Changes the state. Returns `false` if the other side, the connection or the accept loop, has changed it first.
    fn change(&self, state: u64, next: u64) -> bool {
        self.state
            .compare_exchange(state, next, Relaxed, Relaxed)
            .is_ok()
    }
}

/// The stream of a connection, with deadlines that hyper lacks.
///
/// hyper has one timer for both an idle connection and an incomplete request head. A load balancer keeps
/// idle connections for a minute, but a head that is incomplete for a minute is an attack (slowloris). So the
/// timer of hyper bounds the idle time, and this stream bounds the head. The head's time runs from its first
/// byte, or from the accept for the first request, until the service is called. hyper has no timer for
/// clients that do not read.
pub(crate) struct GuardedStream<S> {
    stream: Take<S>,
    activity: Arc<Activity>,
    /// The deadline of a request head. `None` unless a part of a head has arrived, or the first head is awaited. A head
    /// that arrives with one read needs no deadline.
    head: Option<Pin<Box<Sleep>>>,
    /// The write that the client blocks. `None` if the client blocks no write, and again once it has accepted
    /// [`MIN_PROGRESS`].
    write: Option<PendingWrite>,
}

/// A write that waits because the client has not accepted enough.
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

    /// Returns the outcome of a write, or a timeout if the client accepts too little.
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
            // hyper writes all bytes that it has before it waits for the next head, so a connection whose request was
            // served is idle now.
            this.activity.begin_idle();
            if this.activity.is_receiving() && this.head.is_none() {
                let mut timer = Box::pin(sleep(HEAD_TIMEOUT));
                // The first poll makes the timer wake this task.
                let _pending = timer.as_mut().poll(cx);
                this.head = Some(timer);
            }
            return Poll::Pending;
        };
        read?;
        if !this.activity.is_serving()
            && buffer.filled().len() > before
            && !this.activity.begin_head()
        {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
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

    /// Flushes the stream. A completed flush counts as enough progress, because the client has accepted everything.
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
