//! The tasks that send batches.

use crate::state::{Limits, State, Waiting, batch_span};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    sync::oneshot,
    task::yield_now,
    time::{Instant, timeout},
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
        let state = Mutex::new(State { waiting: Vec::new(), workers: 0, sent: Vec::new() });
        Self { limits, send, state }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<R, A>> {
        // No panic under this lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn spawn_worker_if_capacity<R, A>(shared: &Arc<Shared<R, A>>)
where
    R: Send + 'static,
    A: Send + 'static,
{
    let mut state = shared.lock();
    if state.waiting.is_empty() || !state.has_capacity(&shared.limits) {
        return;
    }
    state.workers += 1;
    drop(state);
    let worker = Worker { shared: Arc::clone(shared), sent: None, is_counted: true };
    // Its own task: a caller that is cancelled must not cancel the batch of the others.
    tokio::spawn(worker.run());
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
            let mut sending = (self.shared.send)(requests).instrument(span);
            let answers = loop {
                match timeout(self.shared.limits.stall_timeout, &mut sending).await {
                    Ok(answers) => break answers,
                    // Perhaps all batches are stalled now, and requests that came earlier found no
                    // capacity. Checked again and again, because the extra worker may panic.
                    Err(_elapsed) => spawn_worker_if_capacity(&self.shared),
                }
            };
            for (reply, answer) in replies.into_iter().zip(answers) {
                // Fails for callers that were cancelled.
                let _ = reply.send(answer);
            }
            // Callers that were just answered often submit again at once. Without this turn they
            // would miss the next batch, and batches would stay small.
            yield_now().await;
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
