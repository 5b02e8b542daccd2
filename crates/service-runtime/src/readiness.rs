//! Whether new work is welcome: what `/readyz` answers.

use crate::shutdown::Shutdown;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The readiness of one program. Clones share it.
#[derive(Clone, Debug)]
pub struct Readiness {
    healthy: Arc<AtomicBool>,
    shutdown: Shutdown,
}

impl Readiness {
    /// Not able yet; never ready once `shutdown` has begun.
    #[must_use]
    pub fn new(shutdown: &Shutdown) -> Self {
        Self { healthy: Arc::new(AtomicBool::new(false)), shutdown: shutdown.clone() }
    }

    /// Says whether the program can do its work: it has started, and what it stands on answers.
    pub fn set_healthy(&self, healthy: bool) {
        self.healthy.store(healthy, Ordering::Release);
    }

    /// Whether a balancer should send new work here.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.healthy.load(Ordering::Acquire) && !self.shutdown.is_lame_duck()
    }
}
