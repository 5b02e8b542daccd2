//! The requests that wait, the batches in flight, and their limits.

use std::time::Duration;
use tokio::{sync::oneshot, time::Instant};
use tracing::{Span, info_span};

/// The size of batches, and how many may be in flight.
///
/// Few batches in flight make large batches, which cost less for each request. But a stalled batch must
/// not delay the others: when every batch in flight is older than `stall_timeout`, one more may start.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests in one batch; at least 1.
    pub max_batch_size: usize,
    /// Batches in flight while answers come; at least 1.
    pub max_in_flight: usize,
    /// After this time without an answer, a batch counts as stalled.
    pub stall_timeout: Duration,
    /// Batches in flight while all are stalled; at least `max_in_flight`.
    pub max_in_flight_stalled: usize,
}

pub(crate) struct Waiting<R, A> {
    pub(crate) request: R,
    pub(crate) span: Span,
    pub(crate) reply: oneshot::Sender<A>,
}

pub(crate) struct State<R, A> {
    pub(crate) waiting: Vec<Waiting<R, A>>,
    pub(crate) workers: usize,
    /// When each batch in flight was sent.
    pub(crate) sent: Vec<Instant>,
    /// Whether a task watches for stalls.
    pub(crate) is_watched: bool,
}

// Not derived, because that would need defaults of `R` and `A`.
impl<R, A> Default for State<R, A> {
    fn default() -> Self {
        Self { waiting: Vec::new(), workers: 0, sent: Vec::new(), is_watched: false }
    }
}

impl<R, A> State<R, A> {
    pub(crate) fn is_below_max_in_flight(&self, limits: &Limits) -> bool {
        self.workers < limits.max_in_flight.max(1)
    }

    /// Whether one more worker may start.
    pub(crate) fn has_capacity(&self, limits: &Limits) -> bool {
        let all_stalled = self.sent.len() == self.workers && !self.any_progressing(limits);
        self.is_below_max_in_flight(limits)
            || (all_stalled && self.workers < limits.max_in_flight_stalled)
    }

    /// Whether a worker that started beside stalled batches is one too many, now that others progress.
    pub(crate) fn has_surplus(&self, limits: &Limits) -> bool {
        self.workers > limits.max_in_flight.max(1) && self.any_progressing(limits)
    }

    /// How long the watch sleeps; `None` ends it, once nothing waits. It outlives the workers that it
    /// starts, because they may stall or panic too.
    pub(crate) fn continue_watch(&mut self, limits: &Limits) -> Option<Duration> {
        self.is_watched = !self.waiting.is_empty();
        if self.is_watched && self.has_capacity(limits) {
            return Some(Duration::ZERO);
        }
        let newest = self.sent.iter().max();
        let left = newest.map(|sent| limits.stall_timeout.saturating_sub(sent.elapsed()));
        let left = left.filter(|time| !time.is_zero()).unwrap_or(limits.stall_timeout);
        self.is_watched.then_some(left)
    }

    fn any_progressing(&self, limits: &Limits) -> bool {
        self.sent.iter().any(|sent| sent.elapsed() < limits.stall_timeout)
    }

    pub(crate) fn remove_sent(&mut self, sent: Option<Instant>) {
        if let Some(index) = self.sent.iter().position(|other| Some(*other) == sent) {
            self.sent.swap_remove(index);
        }
    }
}

/// The span of a batch. A span has one parent, so the batch belongs to the first traced request and is
/// linked to the others.
pub(crate) fn batch_span<R, A>(members: &[Waiting<R, A>]) -> Span {
    let mut traced = members.iter().map(|member| &member.span).filter(|span| !span.is_none());
    let Some(first) = traced.next() else { return Span::none() };
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
