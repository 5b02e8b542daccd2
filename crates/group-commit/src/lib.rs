//! Concurrent requests share one round trip, without waiting for each other and without staleness.
//!
//! A [`GroupCommit`] sends what is asked of it in batches. The rule that keeps answers fresh: **a
//! request may join only a batch that has not been sent.** Joining one in flight could return what
//! was true before the request came. There are no timers: a batch forms while the ones before it
//! are under way, and when nothing is under way, a lone request goes straight.

use std::{
    future::Future,
    num::NonZero,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::oneshot, task::yield_now, time::Instant};

/// How large batches may grow, and how many may be under way.
///
/// Few batches under way make large ones, which cost everybody less. But a batch that is stuck must
/// not hold the others up: when the last one was sent longer than `patience` ago, and somebody asks,
/// one more may be sent.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests in one batch; more wait for the next.
    pub batch: NonZero<usize>,
    /// Batches under way at one time, while answers come.
    pub in_flight: NonZero<usize>,
    /// How long answers may take before one more batch is sent beside those that are under way.
    pub patience: Duration,
    /// Batches under way at one time, whatever happens; at least `in_flight`.
    pub most_in_flight: NonZero<usize>,
}

/// The batch of a request ended without an answer for it: its sender panicked, or returned fewer
/// answers than requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch ended without an answer")]
pub struct Lost;

/// Sends a batch; the answers are in the order of the requests.
type Sender<R, A> = dyn Fn(Vec<R>) -> Pin<Box<dyn Future<Output = Vec<A>> + Send>> + Send + Sync;

/// Shares round trips among concurrent requests `R` with answers `A`. Clones share the batches.
pub struct GroupCommit<R, A> {
    shared: Arc<Shared<R, A>>,
}

struct Shared<R, A> {
    limits: Limits,
    send: Box<Sender<R, A>>,
    state: Mutex<State<R, A>>,
}

struct State<R, A> {
    waiting: Vec<(R, oneshot::Sender<A>)>,
    in_flight: usize,
    last_sent: Instant,
}

impl<R: Send + 'static, A: Send + 'static> GroupCommit<R, A> {
    /// Sends batches by `send`, which never sees an empty one.
    pub fn new<F>(limits: Limits, send: impl Fn(Vec<R>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<A>> + Send + 'static,
    {
        let send: Box<Sender<R, A>> = Box::new(move |batch| Box::pin(send(batch)));
        let state =
            Mutex::new(State { waiting: Vec::new(), in_flight: 0, last_sent: Instant::now() });
        Self { shared: Arc::new(Shared { limits, send, state }) }
    }

    /// Sends a request with the next batch and returns its answer. Dropping the future withdraws
    /// the request if its batch has not been sent yet, and never disturbs the others.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn submit(&self, request: R) -> Result<A, Lost> {
        let (answer, answered) = oneshot::channel();
        let must_drive = {
            let mut state = self.shared.lock();
            state.waiting.push((request, answer));
            let has_place = self.shared.limits.admit_one_more(&state);
            state.in_flight += usize::from(has_place);
            has_place
        };
        if must_drive {
            // A task of its own: a caller who leaves must not take the others' answers along.
            let place = InFlight { shared: Arc::clone(&self.shared), given_back: false };
            tokio::spawn(drive(place));
        }
        answered.await.map_err(|_| Lost)
    }
}

/// One of the places for batches under way.
struct InFlight<R, A> {
    shared: Arc<Shared<R, A>>,
    given_back: bool,
}

/// Sends batch after batch until nobody waits.
async fn drive<R, A>(mut place: InFlight<R, A>) {
    while let Some((batch, callers)) = place.next_batch() {
        // From here on nobody may join.
        let answers = (place.shared.send)(batch).await;
        for (caller, answer) in callers.into_iter().zip(answers) {
            // A caller who has left wants no answer.
            let _ = caller.send(answer);
        }
        // Those who were just answered often have the next request at hand. Without their turn
        // before ours they would find it a batch too late, and batches would stay small.
        yield_now().await;
    }
}

type Batch<R, A> = (Vec<R>, Vec<oneshot::Sender<A>>);

impl<R, A> InFlight<R, A> {
    /// Those who wait, without those who have left. With nobody waiting the place is given back, in
    /// the same breath: whoever comes after that finds it free and takes it.
    fn next_batch(&mut self) -> Option<Batch<R, A>> {
        let mut state = self.shared.lock();
        state.waiting.retain(|(_, caller)| !caller.is_closed());
        let limits = &self.shared.limits;
        let size = state.waiting.len().min(limits.batch.get());
        // A place that was taken beside a stuck batch is given up once answers come again.
        let is_extra = state.in_flight > limits.in_flight.get() && limits.answers_come(&state);
        if size == 0 || is_extra {
            state.in_flight -= 1;
            self.given_back = true;
            return None;
        }
        state.last_sent = Instant::now();
        Some(state.waiting.drain(..size).unzip())
    }
}

impl<R, A> Drop for InFlight<R, A> {
    /// After a panic, or when the runtime ends: the place is free again, and if nobody else drives,
    /// those who wait are told that they are lost.
    fn drop(&mut self) {
        if !self.given_back {
            let mut state = self.shared.lock();
            state.in_flight -= 1;
            if state.in_flight == 0 {
                state.waiting.clear();
            }
        }
    }
}

impl Limits {
    fn admit_one_more<R, A>(&self, state: &State<R, A>) -> bool {
        state.in_flight < self.in_flight.get()
            || state.in_flight < self.most_in_flight.get() && !self.answers_come(state)
    }

    fn answers_come<R, A>(&self, state: &State<R, A>) -> bool {
        state.last_sent.elapsed() < self.patience
    }
}

impl<R, A> Shared<R, A> {
    fn lock(&self) -> MutexGuard<'_, State<R, A>> {
        // Nothing under this lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R, A> Clone for GroupCommit<R, A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R, A> std::fmt::Debug for GroupCommit<R, A> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GroupCommit")
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
