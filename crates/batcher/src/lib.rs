//! Concurrent requests share one round trip, without waiting for each other and without staleness.
//!
//! A [`Batcher`] sends what is asked of it in batches. The rule that keeps answers fresh: **a
//! request may join only a batch that has not been sent.** Joining one in flight could return what
//! was true before the request came. Nothing waits for company: a batch forms while the ones before it
//! are under way, and when nothing is under way, a lone request goes straight. (One timer there is
//! for each batch under way: it lets a stuck one hold nobody up.)

use std::{
    future::Future,
    num::NonZero,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::oneshot,
    task::yield_now,
    time::{Instant, timeout},
};

/// How large batches may grow, and how many may be under way.
///
/// Few batches under way make large ones, which cost everybody less. But a batch that is stuck must
/// not hold the others up: when all under way were sent longer than `patience` ago, one more may be
/// sent for those who wait.
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
pub struct Batcher<R, A> {
    shared: Arc<Shared<R, A>>,
}

struct Shared<R, A> {
    limits: Limits,
    send: Box<Sender<R, A>>,
    state: Mutex<State<R, A>>,
    observer: OnceLock<Box<dyn Fn(usize) + Send + Sync>>,
}

struct State<R, A> {
    waiting: Vec<(R, oneshot::Sender<A>)>,
    in_flight: usize,
    /// When each batch that is under way was sent.
    sent: Vec<Instant>,
}

impl<R: Send + 'static, A: Send + 'static> Batcher<R, A> {
    /// Sends batches by `send`, which never sees an empty one.
    pub fn new<F>(limits: Limits, send: impl Fn(Vec<R>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<A>> + Send + 'static,
    {
        let send: Box<Sender<R, A>> = Box::new(move |batch| Box::pin(send(batch)));
        let state = Mutex::new(State { waiting: Vec::new(), in_flight: 0, sent: Vec::new() });
        let observer = OnceLock::new();
        Self { shared: Arc::new(Shared { limits, send, state, observer }) }
    }

    /// Calls `observer` with the size of each batch that is sent, for whoever counts. The first
    /// observer stays.
    pub fn observe(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        // A second one has nowhere to go.
        let _ = self.shared.observer.set(Box::new(observer));
    }

    /// Sends a request with the next batch and returns its answer. Dropping the future withdraws
    /// the request if its batch has not been sent yet, and never disturbs the others.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn submit(&self, request: R) -> Result<A, Lost> {
        let (answer, answered) = oneshot::channel();
        self.shared.lock().waiting.push((request, answer));
        drive_if_there_is_a_place(&self.shared);
        // No timer here: drivers look after those who wait, and nobody waits without a driver.
        answered.await.map_err(|_| Lost)
    }
}

fn drive_if_there_is_a_place<R: Send + 'static, A: Send + 'static>(shared: &Arc<Shared<R, A>>) {
    let mut state = shared.lock();
    if state.waiting.is_empty() || !shared.limits.admit_one_more(&state) {
        return;
    }
    state.in_flight += 1;
    drop(state);
    let place = InFlight { shared: Arc::clone(shared), sent: None, given_back: false };
    // A task of its own: a caller who leaves must not take the others' answers along.
    tokio::spawn(drive(place));
}

/// One of the places for batches under way.
struct InFlight<R, A> {
    shared: Arc<Shared<R, A>>,
    /// When its batch was sent.
    sent: Option<Instant>,
    given_back: bool,
}

/// Sends batch after batch until nobody waits.
async fn drive<R: Send + 'static, A: Send + 'static>(mut place: InFlight<R, A>) {
    while let Some((batch, callers)) = place.next_batch() {
        // From here on nobody may join.
        if let Some(observer) = place.shared.observer.get() {
            observer(batch.len());
        }
        let mut sending = (place.shared.send)(batch);
        let answers = loop {
            match timeout(place.shared.limits.patience, &mut sending).await {
                Ok(answers) => break answers,
                // Perhaps all under way are stuck. Whoever came while this one still moved found no
                // place, and nobody else comes to see it. Again and again: one that was sent
                // beside this one may have ended in a panic.
                Err(_elapsed) => drive_if_there_is_a_place(&place.shared),
            }
        };
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
        state.forget(self.sent.take());
        state.waiting.retain(|(_, caller)| !caller.is_closed());
        let limits = &self.shared.limits;
        let size = state.waiting.len().min(limits.batch.get());
        // A place that was taken beside a stuck batch is given up when another one moves.
        let is_extra = state.in_flight > limits.in_flight.get() && limits.some_move(&state);
        if size == 0 || is_extra {
            state.in_flight -= 1;
            self.given_back = true;
            return None;
        }
        let now = Instant::now();
        state.sent.push(now);
        self.sent = Some(now);
        Some(state.waiting.drain(..size).unzip())
    }
}

impl<R, A> Drop for InFlight<R, A> {
    /// After a panic, or when the runtime ends: the place is free again, and if nobody else drives,
    /// those who wait are told that they are lost.
    fn drop(&mut self) {
        if !self.given_back {
            let mut state = self.shared.lock();
            state.forget(self.sent);
            state.in_flight -= 1;
            if state.in_flight == 0 {
                state.waiting.clear();
            }
        }
    }
}

impl Limits {
    fn admit_one_more<R, A>(&self, state: &State<R, A>) -> bool {
        let has_usual_place = state.in_flight < self.in_flight.get();
        let all_are_sent = state.sent.len() == state.in_flight;
        let is_stuck = all_are_sent && !self.some_move(state);
        has_usual_place || (is_stuck && state.in_flight < self.most_in_flight.get())
    }

    /// Whether some batch under way was sent a short while ago.
    fn some_move<R, A>(&self, state: &State<R, A>) -> bool {
        state.sent.iter().any(|sent| sent.elapsed() < self.patience)
    }
}

impl<R, A> State<R, A> {
    fn forget(&mut self, sent: Option<Instant>) {
        if let Some(place) = self.sent.iter().position(|other| Some(*other) == sent) {
            self.sent.swap_remove(place);
        }
    }
}

impl<R, A> Shared<R, A> {
    fn lock(&self) -> MutexGuard<'_, State<R, A>> {
        // Nothing under this lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R, A> Clone for Batcher<R, A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R, A> std::fmt::Debug for Batcher<R, A> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Batcher")
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
