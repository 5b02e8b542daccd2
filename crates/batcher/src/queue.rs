//! Holds the requests that wait, and decides when a batch of them may start and how large it is.

use std::time::Duration;
use tokio::{sync::oneshot, time::Instant};
use tracing::{Span, info_span};

/// The maximum number of requests that wait for a batch.
///
/// The limit is higher than the number of connections that a replica can have open. Each waiting request takes
/// a few hundred bytes.
pub(crate) const MAX_WAITING: usize = 32_768;

/// Limits the size of batches, and the number of batches in flight.
///
/// Few batches in flight make large batches, which cost less for each request. But a stalled batch must not
/// delay the others: when every batch in flight is older than `stall_timeout`, one more may start.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of requests in one batch; at least 1.
    pub max_batch_size: usize,
    /// The maximum number of batches in flight while answers arrive; at least 1.
    pub max_in_flight: usize,
    /// The time without an answer after which a batch counts as stalled.
    pub stall_timeout: Duration,
    /// The maximum number of batches in flight while all of them are stalled; at least `max_in_flight`.
    pub max_in_flight_stalled: usize,
}

/// A request whose batch has not been sent.
pub(crate) struct PendingRequest<R, A> {
    pub(crate) request: R,
    pub(crate) span: Span,
    pub(crate) reply: oneshot::Sender<A>,
}

pub(crate) struct Batch<R, A> {
    pub(crate) requests: Vec<R>,
    pub(crate) replies: Vec<oneshot::Sender<A>>,
    pub(crate) span: Span,
}

pub(crate) struct Queue<R, A> {
    limits: Limits,
    pub(crate) waiting: Vec<PendingRequest<R, A>>,
    /// The number of tasks that send batches.
    pub(crate) workers: usize,
    /// The time at which each batch in flight was sent.
    sent: Vec<Instant>,
    /// True while a task watches for stalled batches.
    is_watched: bool,
}

impl<R, A> Queue<R, A> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            waiting: Vec::new(),
            workers: 0,
            sent: Vec::new(),
            is_watched: false,
        }
    }

    /// Returns whether one more worker may start. Beyond `max_in_flight`, a worker may start only while all
    /// batches are stalled.
    pub(crate) fn has_capacity(&self) -> bool {
        let all_stalled = self.sent.len() == self.workers && !self.any_progressing();
        self.workers < self.limits.max_in_flight.max(1)
            || (all_stalled && self.workers < self.limits.max_in_flight_stalled)
    }

    /// Returns whether the caller must start the watch, because requests now depend on batches in flight. Only
    /// one caller gets `true` until that watch ends.
    pub(crate) fn claim_watch(&mut self) -> bool {
        let is_claimed = !self.is_watched && self.workers >= self.limits.max_in_flight.max(1);
        self.is_watched |= is_claimed;
        is_claimed
    }

    /// Returns the time that the watch must sleep. Returns `None` once no request waits, which ends the watch.
    /// Cancelled requests are removed first.
    ///
    /// The watch outlives the workers that it starts, because they may stall as well.
    pub(crate) fn continue_watch(&mut self) -> Option<Duration> {
        self.drop_cancelled();
        self.is_watched = !self.waiting.is_empty();
        if !self.is_watched {
            return None;
        }
        if self.has_capacity() {
            return Some(Duration::ZERO);
        }
        let stall_timeout = self.limits.stall_timeout;
        let left = match self.sent.iter().max() {
            Some(newest) => stall_timeout.saturating_sub(newest.elapsed()),
            None => Duration::ZERO,
        };
        Some(if left.is_zero() { stall_timeout } else { left })
    }

    /// Takes the next batch for a worker, without cancelled requests, or returns `None` if the worker must end.
    /// `last_sent` is the time at which this worker sent its previous batch.
    ///
    /// If no request waits, the worker ends under the same lock, so that the next request starts another
    /// worker. The worker also ends if it was started beside stalled batches and other batches progress again.
    pub(crate) fn next_batch(&mut self, last_sent: &mut Option<Instant>) -> Option<Batch<R, A>> {
        let previous = *last_sent;
        if let Some(index) = self.sent.iter().position(|sent| Some(*sent) == previous) {
            self.sent.swap_remove(index);
        }
        self.drop_cancelled();
        let is_surplus = self.workers > self.limits.max_in_flight.max(1) && self.any_progressing();
        if self.waiting.is_empty() || is_surplus {
            self.workers -= 1;
            return None;
        }
        let now = Instant::now();
        self.sent.push(now);
        *last_sent = Some(now);
        let size = self.waiting.len().min(self.limits.max_batch_size.max(1));
        let span = batch_span(&self.waiting[..size]);
        let members = self.waiting.drain(..size);
        let (requests, replies) = members.map(|member| (member.request, member.reply)).unzip();
        Some(Batch {
            requests,
            replies,
            span,
        })
    }

    fn drop_cancelled(&mut self) {
        self.waiting.retain(|request| !request.reply.is_closed());
    }

    fn any_progressing(&self) -> bool {
        self.sent
            .iter()
            .any(|sent| sent.elapsed() < self.limits.stall_timeout)
    }
}

/// Creates the span of a batch. A span has one parent, so the batch belongs to the first traced request and is
/// linked to the others. A batch of one request has no span of its own.
fn batch_span<R, A>(members: &[PendingRequest<R, A>]) -> Span {
    let mut traced = members
        .iter()
        .map(|member| &member.span)
        .filter(|span| !span.is_none());
    let Some(first) = traced.next() else {
        return Span::none();
    };
    let size = members.len();
    if size == 1 {
        return first.clone();
    }
    let span = info_span!(parent: first, "batch", otel.kind = "internal", size);
    for other in traced {
        span.follows_from(other);
    }
    span
}
