//! Tracks the commit of a write, so that its caller and its task agree on whether it may be sent.

use parking_lot::Mutex;
use sqlx::Error;
use std::sync::Arc;
use tokio::time::Instant;

/// The state of the commit of a write, which its caller and its task share by clones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commit {
    stage: Arc<Mutex<Stage>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Unsent,
    Sent(Instant),
    /// The write was withdrawn, so its commit must no longer be sent.
    Withdrawn,
}

impl Commit {
    /// Records that the commit is about to be sent, and fails if the write was withdrawn. It must be called
    /// before the statement that commits is sent.
    pub(crate) fn mark_sent(&self) -> sqlx::Result<()> {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Withdrawn) {
            return Err(Error::PoolTimedOut);
        }
        *stage = Stage::Sent(Instant::now());
        Ok(())
    }

    /// Records that the server has rolled the write back. Returns whether the write may run again: only if it
    /// was not withdrawn.
    pub(crate) fn roll_back(&self) -> bool {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Withdrawn) {
            return false;
        }
        *stage = Stage::Unsent;
        true
    }

    /// Forbids the commit, unless it was already sent. In that case, returns the time at which it was sent.
    pub(super) fn withdraw(&self) -> Option<Instant> {
        let mut stage = self.stage.lock();
        if let Stage::Sent(at) = *stage {
            return Some(at);
        }
        *stage = Stage::Withdrawn;
        None
    }

    /// Returns whether the commit was sent, so that the write may have happened.
    pub(crate) fn was_sent(&self) -> bool {
        matches!(*self.stage.lock(), Stage::Sent(_))
    }
}
