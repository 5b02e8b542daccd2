//! Whether a program is ready, as `/readyz` reports.

use crate::shutdown::Shutdown;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// Why a program is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The database is not open yet, or unavailable. Readiness follows no other dependency.
    Database,
    /// The shutdown has begun.
    Stopping,
}

/// The readiness of a program. Clones share it.
#[derive(Clone, Debug)]
pub struct Readiness {
    healthy: Arc<AtomicBool>,
    write_problem: Arc<Mutex<Option<Arc<str>>>>,
    shutdown: Shutdown,
}

impl Readiness {
    /// Not ready until [`Self::set_healthy`], and never after `shutdown` has begun.
    #[must_use]
    pub fn new(shutdown: &Shutdown) -> Self {
        Self { healthy: Arc::default(), write_problem: Arc::default(), shutdown: shutdown.clone() }
    }

    /// Sets whether the program has started and its dependencies are available.
    pub fn set_healthy(&self, healthy: bool) {
        self.healthy.store(healthy, Ordering::Release);
    }

    /// Sets why the store cannot write. It stays ready, because decisions only read.
    pub fn set_write_problem(&self, problem: Option<Arc<str>>) {
        *self.write_problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Why the store cannot write; `None` if it can.
    #[must_use]
    pub fn write_problem(&self) -> Option<Arc<str>> {
        self.write_problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether load balancers should send new requests.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.obstacle().is_none()
    }

    /// Why load balancers should send none.
    #[must_use]
    pub fn obstacle(&self) -> Option<Obstacle> {
        if self.shutdown.is_lame_duck() {
            return Some(Obstacle::Stopping);
        }
        (!self.healthy.load(Ordering::Acquire)).then_some(Obstacle::Database)
    }
}
