//! What the connections of a listener do: written by them, read by the accept loop, which closes the one
//! that has been idle longest when it needs room.

use crate::memory_budget::Reservation;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};
use tokio::task::AbortHandle;

/// A part of a request head has arrived.
const RECEIVING: u64 = 0;
/// A request is served.
const SERVING: u64 = 1;
/// All of the response is in the buffers of the connection.
const SERVED: u64 = 2;
/// Closed by the accept loop.
const CLOSING: u64 = u64::MAX;
/// Any other state is the tick since which the connection is idle.
const FIRST_TICK: u64 = 3;

/// Counts ticks; shared by the connections of a listener. A coarse clock costs requests a load.
type Ticks = Arc<AtomicU64>;

/// The activity of one connection. Only the connection itself and one transition of the accept loop,
/// from idle to closing, change it: what has begun to receive is never closed for another connection.
#[derive(Debug)]
pub(crate) struct Activity {
    state: AtomicU64,
    /// Whether the peer has yet to take some of the response.
    is_blocked: AtomicBool,
    /// Of the response, until its bytes are written.
    memory: Mutex<Weak<Reservation>>,
    ticks: Ticks,
}

impl Activity {
    fn new(ticks: &Ticks) -> Self {
        let state = AtomicU64::new(FIRST_TICK + ticks.load(Relaxed));
        let (is_blocked, memory) = (AtomicBool::default(), Mutex::default());
        Self { state, is_blocked, memory, ticks: Arc::clone(ticks) }
    }

    /// Notes that bytes of a request have arrived. `false` if the connection is being closed.
    pub(crate) fn begin_head(&self) -> bool {
        self.begin(RECEIVING)
    }

    /// Notes that the head is complete. `false` if the connection is being closed: the request must
    /// not be served.
    pub(crate) fn begin_request(&self) -> bool {
        self.begin(SERVING)
    }

    /// Notes that all of the response is in the buffers of the connection.
    pub(crate) fn end_request(&self) {
        self.state.store(SERVED, Relaxed);
    }

    /// Notes that these buffers were written as far as the peer takes them, and nothing has arrived.
    pub(crate) fn rest(&self) {
        if self.state.load(Relaxed) == SERVED {
            self.state.store(FIRST_TICK + self.ticks.load(Relaxed), Relaxed);
        }
    }

    /// Whether a request is served now.
    pub(crate) fn is_serving(&self) -> bool {
        self.state.load(Relaxed) == SERVING
    }

    /// Whether a request is served now, or was served and no byte of the next one has arrived.
    pub(crate) fn has_request(&self) -> bool {
        matches!(self.state.load(Relaxed), SERVING | SERVED)
    }

    /// Notes whether the peer has yet to take some of the response.
    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Relaxed);
    }

    /// Notes the memory that the response holds until its bytes are written.
    pub(crate) fn hold(&self, memory: Weak<Reservation>) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = memory;
    }

    /// Whether others wait for memory that the response still holds.
    pub(crate) fn delays_others(&self) -> bool {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        memory.is_some_and(|memory| memory.is_contended())
    }

    /// The tick since which the connection is idle.
    fn idle_since(&self) -> Option<u64> {
        let state = self.state.load(Relaxed);
        let is_idle = (FIRST_TICK..CLOSING).contains(&state) && !self.is_blocked.load(Relaxed);
        is_idle.then_some(state)
    }

    /// Forbids further requests, if the connection has been idle since this tick.
    fn try_close(&self, since: u64) -> bool {
        self.idle_since() == Some(since) && self.change(since, CLOSING)
    }

    fn begin(&self, next: u64) -> bool {
        let state = self.state.load(Relaxed);
        state != CLOSING && self.change(state, next)
    }

    /// `false` if the other side was first.
    fn change(&self, state: u64, next: u64) -> bool {
        self.state.compare_exchange(state, next, Relaxed, Relaxed).is_ok()
    }
}

/// Found by one search. The search reads every connection, and a flood of newcomers needs many.
const CANDIDATES: usize = 64;

/// The open connections. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenConnections(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    ticks: Ticks,
    next_id: u64,
    open: HashMap<u64, (Arc<Activity>, AbortHandle)>,
    /// Idle connections by id, the one that has been idle longest first, and the tick since which
    /// each was idle when it was found.
    candidates: VecDeque<(u64, u64)>,
}

/// Removes the connection when it is dropped.
pub(crate) struct Entry {
    table: OpenConnections,
    id: u64,
}

impl OpenConnections {
    /// Advances the clock of idle times.
    pub(crate) fn tick(&self) {
        self.lock().ticks.fetch_add(1, Relaxed);
    }

    /// Adds the connection that `spawn` serves in a task, which must hold the entry.
    pub(crate) fn spawn(&self, spawn: impl FnOnce(Arc<Activity>, Entry) -> AbortHandle) {
        let mut table = self.lock();
        let id = table.next_id;
        table.next_id += 1;
        let activity = Arc::new(Activity::new(&table.ticks));
        // The task cannot remove its entry before it is there: that needs the lock.
        let task = spawn(Arc::clone(&activity), Entry { table: self.clone(), id });
        table.open.insert(id, (activity, task));
    }

    /// Closes the connection that has been idle longest. `false` if none is idle.
    pub(crate) fn close_longest_idle(&self) -> bool {
        let mut table = self.lock();
        if table.close_candidate() {
            return true;
        }
        table.find_candidates();
        table.close_candidate()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn close_candidate(&mut self) -> bool {
        while let Some((id, since)) = self.candidates.pop_front() {
            if let Some((activity, task)) = self.open.get(&id)
                && activity.try_close(since)
            {
                task.abort();
                return true;
            }
        }
        false
    }

    fn find_candidates(&mut self) {
        let idle = |(&id, (activity, _)): (&u64, &(Arc<Activity>, _))| {
            activity.idle_since().map(|since| (since, id))
        };
        let mut found: Vec<_> = self.open.iter().filter_map(idle).collect();
        if found.len() > CANDIDATES {
            found.select_nth_unstable(CANDIDATES);
            found.truncate(CANDIDATES);
        }
        found.sort_unstable();
        self.candidates = found.into_iter().map(|(since, id)| (id, since)).collect();
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.table.lock().open.remove(&self.id);
    }
}

#[cfg(test)]
pub(crate) mod tests;
