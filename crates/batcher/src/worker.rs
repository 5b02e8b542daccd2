//! The tasks that send batches.

use crate::state::{Limits, State, Waiting, batch_span};
use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    sync::oneshot,
    task::yield_now,
    time::{Instant, sleep},
};
use tracing::{Instrument as _, Span};

type AnswersFuture<A> = Pin<Box<dyn Future<Output = Vec<A>> + Send>>;
type Sender<R, A> = Box<dyn Fn(Vec<R>) -> AnswersFuture<A> + Send + Sync>;

pub(crate) struct Shared<R, A> {
    pub(crate) limits: Limits,
    send: Sender<R, A>,
    state: Mutex<State<R, A>>,
}

impl<R, A> Shared<R, A> {
    pub(crate) fn new(limits: Limits, send: Sender<R, A>) -> Self {
        let state = Mutex::new(State::default());
        Self { limits, send, state }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<R, A>> {
        // No panic under this lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a worker for the requests that wait, if there is capacity. Also starts the watch if they depend
/// on other batches.
pub(crate) fn dispatch_waiting<R, A>(shared: &Arc<Shared<R, A>>)
where
    R: Send + 'static,
    A: Send + 'static,
{
    let mut state = shared.lock();
    if state.waiting.is_empty() {
        return;
    }
    let needs_watch = !state.is_below_max_in_flight(&shared.limits);
    let starts_watch = needs_watch && !mem::replace(&mut state.is_watched, true);
    let has_capacity = state.has_capacity(&shared.limits);
    state.workers += usize::from(has_capacity);
    drop(state);
    if has_capacity {
        let worker = Worker { shared: Arc::clone(shared), sent: None, is_counted: true };
        // Its own task: a caller that is cancelled must not cancel the batch of the others.
        tokio::spawn(worker.run());
    }
    if starts_watch {
        tokio::spawn(watch(Arc::clone(shared)));
    }
}

/// Starts a worker whenever all batches in flight are stalled, until no request waits. Requests that came
/// before the stall found no capacity. One task for all batches: a timer in each worker would interrupt
/// the runtime's wait for I/O with each lone request.
async fn watch<R: Send + 'static, A: Send + 'static>(shared: Arc<Shared<R, A>>) {
    while let Some(time) = { shared.lock().continue_watch(&shared.limits) } {
        sleep(time).await;
        dispatch_waiting(&shared);
    }
}

struct Worker<R, A> {
    shared: Arc<Shared<R, A>>,
    /// When its batch in flight was sent.
    sent: Option<Instant>,
    /// Whether it counts among the workers.
    is_counted: bool,
}

struct Batch<R, A> {
    requests: Vec<R>,
    replies: Vec<oneshot::Sender<A>>,
    span: Span,
}

impl<R: Send + 'static, A: Send + 'static> Worker<R, A> {
    /// Sends batch after batch until no request waits.
    async fn run(mut self) {
        while let Some(Batch { requests, replies, span }) = self.next_batch() {
            let answers = (self.shared.send)(requests).instrument(span).await;
            let is_single = replies.len() == 1;
            for (reply, answer) in replies.into_iter().zip(answers) {
                // Fails for callers that were cancelled.
                let _ = reply.send(answer);
            }
            // Callers that were just answered often submit again at once. Without this turn they
            // would miss the next batch, and batches would stay small. A lone caller needs none: its
            // next request starts a worker.
            if !is_single || !self.shared.lock().waiting.is_empty() {
                yield_now().await;
            }
        }
    }

    /// Takes the next batch, without cancelled requests. Where there is none, the worker ends within
    /// the same lock, so that the next request starts another.
    fn next_batch(&mut self) -> Option<Batch<R, A>> {
        let mut state = self.shared.lock();
        state.remove_sent(self.sent.take());
        state.waiting.retain(|waiting| !waiting.reply.is_closed());
        let limits = &self.shared.limits;
        if state.waiting.is_empty() || state.has_surplus(limits) {
            state.workers -= 1;
            self.is_counted = false;
            return None;
        }
        let now = Instant::now();
        state.sent.push(now);
        self.sent = Some(now);
        let size = state.waiting.len().min(limits.max_batch_size.max(1));
        let span = batch_span(&state.waiting[..size]);
        let members = state.waiting.drain(..size);
        let (requests, replies) =
            members.map(|Waiting { request, reply, .. }| (request, reply)).unzip();
        Some(Batch { requests, replies, span })
    }
}

impl<R, A> Drop for Worker<R, A> {
    /// After a panic, or at the end of the runtime: frees the capacity. Without another worker, the
    /// requests that wait are dropped.
    fn drop(&mut self) {
        if self.is_counted {
            let mut state = self.shared.lock();
            state.remove_sent(self.sent);
            state.workers -= 1;
            if state.workers == 0 {
                state.waiting.clear();
            }
        }
    }
}
