//! Tracks which connections of a listener are idle, so that one of them can make room for a new connection.
//!
//! Each connection writes its own [`Activity`]. The accept loop reads all of them in [`OpenConnections`], and closes
//! the connection that has been idle longest when it needs room.

use crate::memory_budget::Reservation;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};
use tokio::task::AbortHandle;

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
type Ticks = Arc<AtomicU64>;

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
    fn new(ticks: &Ticks) -> Self {
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
    fn idle_since(&self) -> Option<u64> {
        let state = self.state.load(Relaxed);
        let is_idle = (FIRST_TICK..CLOSING).contains(&state) && !self.is_blocked.load(Relaxed);
        is_idle.then_some(state)
    }

    /// Closes the connection if it has been idle since this tick. Returns `true` if it does.
    fn try_close(&self, since: u64) -> bool {
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

/// The maximum number of candidates that one search collects. A flood of new connections needs many candidates, and
/// each search reads every connection.
const MAX_CANDIDATES: usize = 64;

/// A connection that was idle when it was found.
#[derive(Debug)]
struct Candidate {
    /// The tick since which the connection was idle.
    idle_since: u64,
    activity: Weak<Activity>,
}

/// The connections of one listener, for its accept loop.
#[derive(Debug, Default)]
pub(crate) struct OpenConnections {
    ticks: Ticks,
    /// The connections in the order in which they were opened, including some that have ended.
    all: Vec<Weak<Activity>>,
    /// The connections to close next, beginning with the one that has been idle longest.
    candidates: VecDeque<Candidate>,
}

impl OpenConnections {
    /// Advances the clock of idle times.
    pub(crate) fn tick(&self) {
        self.ticks.fetch_add(1, Relaxed);
    }

    /// Adds a connection. It counts as open until the returned activity is dropped.
    pub(crate) fn open(&mut self) -> Arc<Activity> {
        if self.all.len() == self.all.capacity() {
            self.all.retain(|connection| connection.strong_count() > 0);
            self.all.reserve(self.all.len() + 1);
        }
        let activity = Arc::new(Activity::new(&self.ticks));
        self.all.push(Arc::downgrade(&activity));
        activity
    }

    /// Closes the connection that has been idle longest. Returns `false` if none is idle.
    pub(crate) fn close_longest_idle(&mut self) -> bool {
        if self.close_candidate() {
            return true;
        }
        self.find_candidates();
        self.close_candidate()
    }

    fn close_candidate(&mut self) -> bool {
        while let Some(candidate) = self.candidates.pop_front() {
            if let Some(activity) = candidate.activity.upgrade()
                && activity.try_close(candidate.idle_since)
            {
                return true;
            }
        }
        false
    }

    fn find_candidates(&mut self) {
        // The pairs are ordered by the tick, and by the age of the connection if the ticks are equal.
        let mut idle = Vec::new();
        for (index, connection) in self.all.iter().enumerate() {
            if let Some(activity) = connection.upgrade()
                && let Some(idle_since) = activity.idle_since()
            {
                idle.push((idle_since, index));
            }
        }
        if idle.len() > MAX_CANDIDATES {
            idle.select_nth_unstable(MAX_CANDIDATES);
            idle.truncate(MAX_CANDIDATES);
        }
        idle.sort_unstable();
        self.candidates = idle
            .into_iter()
            .map(|(idle_since, index)| Candidate {
                idle_since,
                activity: Weak::clone(&self.all[index]),
            })
            .collect();
    }
}

#[cfg(test)]
pub(crate) mod tests;
