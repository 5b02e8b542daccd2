//! The open connections of a listener; at its limit, the one that has been idle longest is closed.

use crate::activity::{Activity, Ticks};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::task::AbortHandle;

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
        self.lock().ticks.advance();
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
mod tests {
    use super::OpenConnections;
    use crate::activity::Activity;
    use std::{future::pending, sync::Arc};

    fn open(connections: &OpenConnections) -> Arc<Activity> {
        let mut opened = None;
        connections.spawn(|activity, entry| {
            opened = Some(activity);
            tokio::spawn(async move {
                let _entry = entry;
                pending::<()>().await;
            })
            .abort_handle()
        });
        opened.expect("spawned")
    }

    #[tokio::test]
    async fn the_connection_that_has_been_idle_longest_is_closed_first() {
        let connections = OpenConnections::default();
        let all: Vec<_> = (0..200).map(|_| open(&connections)).collect();
        for used in [1, 0] {
            connections.tick();
            assert!(all[used].begin_request());
            all[used].end_request();
            all[used].rest();
        }
        assert!(all[2].begin_request());
        // By the age of the connection where the ticks are equal.
        for (closed, expected) in (3..200).chain([1, 0]).enumerate() {
            assert!(connections.close_longest_idle(), "{closed} closed");
            assert!(!all[expected].begin_head(), "{expected} is open, {closed} closed");
        }
        assert!(!connections.close_longest_idle(), "the last one serves a request");
    }

    #[tokio::test]
    async fn a_candidate_that_serves_again_is_skipped() {
        let connections = OpenConnections::default();
        let all: Vec<_> = (0..3).map(|_| open(&connections)).collect();
        assert!(connections.close_longest_idle());
        assert!(all[1].begin_request());
        connections.tick();
        all[1].end_request();
        all[1].rest();
        assert!(connections.close_longest_idle());
        assert!(all[1].begin_head() && !all[2].begin_head());
    }

    #[tokio::test]
    async fn an_ended_connection_leaves_the_table() {
        let connections = OpenConnections::default();
        connections.spawn(|_, entry| tokio::spawn(async move { drop(entry) }).abort_handle());
        while !connections.lock().open.is_empty() {
            tokio::task::yield_now().await;
        }
    }
}
