//! Holds the state that `/readyz` reports: whether the program is ready, and why stores cannot write.

use parking_lot::Mutex;
use rolegate_program::shutdown::Shutdown;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The readiness of a program. Clones share it.
#[derive(Clone, Debug)]
pub struct Readiness {
    healthy: Arc<AtomicBool>,
    /// The reasons why stores cannot write, by the number of the store.
    write_problems: Arc<Mutex<BTreeMap<usize, Arc<str>>>>,
    store: usize,
    shutdown: Shutdown,
}

impl Readiness {
    /// Returns a readiness that is not ready until [`Self::set_healthy`], and never again after `shutdown` has begun.
    pub fn new(shutdown: &Shutdown) -> Self {
        Self {
            healthy: Arc::default(),
            write_problems: Arc::default(),
            store: 0,
            shutdown: shutdown.clone(),
        }
    }

    /// Sets whether the program has started and its dependencies are available.
    pub fn set_healthy(&self, healthy: bool) {
        self.healthy.store(healthy, Ordering::Release);
    }

    /// Returns the readiness of one more store of the program.
    ///
    /// The health of that store has no effect on this readiness, but `/readyz` reports its write problem too.
    #[must_use]
    pub fn for_another_store(&self) -> Self {
        Self {
            healthy: Arc::default(),
            store: self.store + 1,
            ..self.clone()
        }
    }

    /// Sets why the store cannot write; `None` if it can. The program stays ready, because decisions only read.
    pub fn set_write_problem(&self, problem: Option<Arc<str>>) {
        let mut problems = self.write_problems.lock();
        match problem {
            Some(problem) => problems.insert(self.store, problem),
            None => problems.remove(&self.store),
        };
    }

    pub(crate) fn write_problems(&self) -> Vec<Arc<str>> {
        let problems = self.write_problems.lock();
        problems.values().cloned().collect()
    }

    /// Returns `true` if load balancers should send new requests.
    pub fn is_ready(&self) -> bool {
        self.obstacle().is_none()
    }

    /// Returns the reason why load balancers should send no requests, or `None` if they should. The database is the
    /// only dependency that readiness follows.
    pub(crate) fn obstacle(&self) -> Option<&'static str> {
        if self.shutdown.is_lame_duck() {
            return Some("stopping");
        }
        if !self.healthy.load(Ordering::Acquire) {
            return Some("waiting for the database");
        }
        None
    }
}
