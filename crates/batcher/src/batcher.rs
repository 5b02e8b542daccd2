//! Sends requests in batches: has the handle for callers, the queue, and the tasks that send.

use crate::{Limits, SubmitError};
use futures_util::{FutureExt as _, future::BoxFuture};
use parking_lot::{Mutex, MutexGuard};
use std::{fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::yield_now,
    time::{Instant, sleep},
};
use tracing::{Instrument as _, Span, info_span};

/// The maximum number of requests that wait for a batch.
///
/// The limit is higher than the number of connections that a replica can have open. Each waiting request takes
/// a few hundred bytes.
pub(crate) const MAX_WAITING: usize = 32_768;

/// Sends requests `R` in batches, and returns their answers `A`. Clones share the batches.
pub struct Batcher<R, A> {
    dispatcher: Arc<Dispatcher<R, A>>,
}

/// Starts the tasks that send batches, and holds the requests that wait for a batch.
struct Dispatcher<R, A> {
    send: Box<dyn Fn(Vec<R>) -> BoxFuture<'static, Vec<A>> + Send + Sync>,
    /// The lock does not poison. This is safe, because no panic while it is held could leave the queue half
    /// changed.
    queue: Mutex<Queue<R, A>>,
}

struct Queue<R, A> {
    limits: Limits,
    waiting: Vec<PendingRequest<R, A>>,
    /// The number of senders: tasks that send batches, and callers that send a lone request.
    senders: usize,
    /// The time at which each batch in flight was sent.
    sent: Vec<Instant>,
    /// True while a task watches for stalled batches.
    is_watched: bool,
    /// True if the caller of a lone request sends it.
    lets_callers_send: bool,
}

/// A request whose batch has not been sent.
struct PendingRequest<R, A> {
    request: R,
    span: Span,
    reply: oneshot::Sender<A>,
}

struct Batch<R, A> {
    requests: Vec<R>,
    replies: Vec<oneshot::Sender<A>>,
    span: Span,
    sent: Instant,
}

impl<R: Send + 'static, A: Send + 'static> Batcher<R, A> {
    /// Creates a batcher that sends its batches with `send`.
    ///
    /// `send` receives a batch, never an empty one, and returns the answers in the order of the requests. For a
    /// batch of one request, `send` runs in the span of that request. Otherwise it runs in a new span, which is
    /// a child of the first traced request and linked to the others.
    pub fn new<F>(limits: Limits, send: impl Fn(Vec<R>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<A>> + Send + 'static,
    {
        let send = Box::new(move |batch| Box::pin(send(batch)) as _);
        Self {
            dispatcher: Arc::new(Dispatcher {
                send,
                queue: Mutex::new(Queue {
                    limits,
                    waiting: Vec::new(),
                    senders: 0,
                    sent: Vec::new(),
                    is_watched: false,
                    lets_callers_send: false,
                }),
            }),
        }
    }

    /// Lets the caller of a lone request send it, without a task. A caller that leaves then interrupts `send`. Without
    /// this, `send` always runs to its end, in a task of its own.
    #[must_use]
    pub fn let_callers_send(self) -> Self {
        self.dispatcher.queue.lock().lets_callers_send = true;
        self
    }

    /// Sends a request and returns its answer: at once if no other request waits and a batch may start, else with
    /// the next batch. Fails if too many requests wait already, or if the batch ends without an answer.
    ///
    /// Dropping the future withdraws the request if its batch has not been sent, and never affects other
    /// requests. The caller must be inside a tokio runtime. With [`Self::let_callers_send`], it must poll the future
    /// until the future ends or is dropped: the future sends a lone request, which counts as in flight until then.
    pub async fn submit(&self, request: R) -> Result<A, SubmitError> {
        match self.dispatcher.admit(request)? {
            Admission::Alone(request, _in_flight) => {
                let answers = self.dispatcher.send_batch(vec![request]).await;
                answers.into_iter().next().ok_or(SubmitError::BatchDropped)
            }
            // No timer is needed here: a request waits only while another one is sent, and `watch` notices
            // stalled batches.
            Admission::Waiting(answer) => answer.await.map_err(|_| SubmitError::BatchDropped),
        }
    }
}

enum Admission<'a, R: Send + 'static, A: Send + 'static> {
    /// The caller sends the request.
    Alone(R, LoneSender<'a, R, A>),
    /// The request waits for a batch, which sends this answer.
    Waiting(oneshot::Receiver<A>),
}

/// The guard of a caller that sends its request alone, which counts as a sender. When the caller has its answer or
/// has left, the requests that have come meanwhile are sent.
struct LoneSender<'a, R: Send + 'static, A: Send + 'static> {
    dispatcher: &'a Arc<Dispatcher<R, A>>,
    sent: Instant,
}

impl<R: Send + 'static, A: Send + 'static> Drop for LoneSender<'_, R, A> {
    fn drop(&mut self) {
        let mut queue = self.dispatcher.queue.lock();
        queue.end_batch(self.sent);
        queue.senders -= 1;
        // Outside a runtime, no task can start. The watch then sends the requests that wait.
        if !queue.waiting.is_empty() && Handle::try_current().is_ok() {
            self.dispatcher.dispatch(queue);
        }
    }
}

impl<R: Send + 'static, A: Send + 'static> Dispatcher<R, A> {
    fn admit(self: &Arc<Self>, request: R) -> Result<Admission<'_, R, A>, SubmitError> {
        let mut queue = self.queue.lock();
        if queue.lets_callers_send && queue.waiting.is_empty() && queue.has_capacity() {
            queue.senders += 1;
            let sent = queue.begin_batch();
            let dispatcher = self;
            return Ok(Admission::Alone(request, LoneSender { dispatcher, sent }));
        }
        if queue.waiting.len() >= MAX_WAITING {
            return Err(SubmitError::QueueFull);
        }
        let (reply, answer) = oneshot::channel();
        queue.waiting.push(PendingRequest {
            request,
            span: Span::current(),
            reply,
        });
        self.dispatch(queue);
        Ok(Admission::Waiting(answer))
    }

    /// Starts a worker for the requests that wait, if there is capacity. If the requests depend on batches that
    /// are in flight, also starts the task that watches these batches.
    fn dispatch(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue<R, A>>) {
        let starts_watch = queue.claim_watch();
        let starts_worker = queue.has_capacity();
        queue.senders += usize::from(starts_worker);
        drop(queue);
        if starts_worker {
            // The batch runs in its own task, so that a cancelled caller does not cancel the requests of others.
            tokio::spawn(Arc::clone(self).work());
        }
        if starts_watch {
            tokio::spawn(Arc::clone(self).watch());
        }
    }

    /// Starts another worker whenever all batches in flight are stalled, up to the limit, until no request waits.
    ///
    /// The watch is needed because requests that came before the stall found no capacity, so none of them
    /// starts a worker. One task watches all batches: a timer for each batch would interrupt the runtime's wait
    /// for I/O with each lone request.
    async fn watch(self: Arc<Self>) {
        while let Some(time) = { self.queue.lock().continue_watch() } {
            sleep(time).await;
            let queue = self.queue.lock();
            if !queue.waiting.is_empty() {
                self.dispatch(queue);
            }
        }
    }

    /// Sends batch after batch until the queue has no batch for this worker.
    async fn work(self: Arc<Self>) {
        let mut last_sent = None;
        while let Some(batch) = { self.queue.lock().next_batch(last_sent) } {
            last_sent = Some(batch.sent);
            let answers = self.send_batch(batch.requests).instrument(batch.span).await;
            let is_single = batch.replies.len() == 1;
            for (reply, answer) in batch.replies.into_iter().zip(answers) {
                // Sending fails if the caller was cancelled, and then nobody needs the answer.
                let _ = reply.send(answer);
            }
            // Callers that were just answered often submit again at once. Yielding lets them do so before the
            // next batch is taken; otherwise these requests would miss it, and batches would stay small. A lone
            // caller does not need this, because its next request is sent at once.
            if !is_single || !self.queue.lock().waiting.is_empty() {
                yield_now().await;
            }
        }
    }

    /// Sends a batch and returns the answers. If the sender panics, there are none, so the callers get an error.
    /// The panic hook has already logged the panic.
    async fn send_batch(&self, requests: Vec<R>) -> Vec<A> {
        let answers = async { (self.send)(requests).await };
        AssertUnwindSafe(answers)
            .catch_unwind()
            .await
            .unwrap_or_default()
    }
}

impl<R, A> Queue<R, A> {
    /// Returns whether one more batch may start. Beyond `max_in_flight`, a batch may start only while all
    /// others are stalled.
    fn has_capacity(&self) -> bool {
        if self.senders < self.limits.max_in_flight.max(1) {
            return true;
        }
        self.senders < self.limits.max_in_flight_stalled
            && self.sent.len() == self.senders
            && !self.any_progressing()
    }

    /// Returns whether the caller must start the watch, because requests now depend on batches in flight. Only
    /// one caller gets `true` until that watch ends.
    fn claim_watch(&mut self) -> bool {
        let is_claimed = !self.is_watched && self.senders >= self.limits.max_in_flight.max(1);
        self.is_watched |= is_claimed;
        is_claimed
    }

    /// Returns the time that the watch must sleep. Returns `None` once no request waits, which ends the watch.
    /// Cancelled requests are removed first.
    ///
    /// The watch outlives the workers that it starts, because they may stall as well.
    fn continue_watch(&mut self) -> Option<Duration> {
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
    /// If no request waits, the worker ends under the same lock, so that the next request is sent at once. The
    /// worker also ends if it was started beside stalled batches and other batches progress again.
    fn next_batch(&mut self, last_sent: Option<Instant>) -> Option<Batch<R, A>> {
        if let Some(sent) = last_sent {
            self.end_batch(sent);
        }
        self.drop_cancelled();
        let is_surplus = self.senders > self.limits.max_in_flight.max(1) && self.any_progressing();
        if self.waiting.is_empty() || is_surplus {
            self.senders -= 1;
            return None;
        }
        let sent = self.begin_batch();
        let size = self.waiting.len().min(self.limits.max_batch_size.max(1));
        let span = batch_span(&self.waiting[..size]);
        let members = self.waiting.drain(..size);
        let (requests, replies) = members.map(|member| (member.request, member.reply)).unzip();
        Some(Batch {
            requests,
            replies,
            span,
            sent,
        })
    }

    /// Counts a batch as in flight, and returns the time at which it is sent.
    fn begin_batch(&mut self) -> Instant {
        let now = Instant::now();
        self.sent.push(now);
        now
    }

    fn end_batch(&mut self, sent: Instant) {
        if let Some(index) = self.sent.iter().position(|time| *time == sent) {
            self.sent.swap_remove(index);
        }
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

impl<R, A> Clone for Batcher<R, A> {
    fn clone(&self) -> Self {
        Self {
            dispatcher: Arc::clone(&self.dispatcher),
        }
    }
}

impl<R, A> fmt::Debug for Batcher<R, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Batcher").finish_non_exhaustive()
    }
}
