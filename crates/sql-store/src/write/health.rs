//! Remembers whether a store can write, as far as its writes have shown.

use crate::StoreError;
use std::sync::Arc;
use tokio::sync::watch;

/// Tracks whether a store can write. Clones share the state.
#[derive(Clone, Debug)]
pub(crate) struct WriteHealth {
    store: Arc<str>,
    /// The hint for the operator in the log line about a commit without an answer.
    hint: &'static str,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    problem: Option<Arc<str>>,
    /// The number of commits without an answer.
    overdue: usize,
    /// True while a task tests at intervals whether the store can write again.
    has_probe: bool,
}

/// A commit without an answer. While this value exists, writes are refused.
#[derive(Debug)]
pub(crate) struct OverdueCommit {
    health: WriteHealth,
}

impl WriteHealth {
    pub(crate) fn new(store: impl Into<Arc<str>>, hint: &'static str) -> Self {
        Self {
            store: store.into(),
            hint,
            state: watch::Sender::default(),
        }
    }

    /// Returns the name of the database and the reason why writes fail. Returns `None` if writes succeed, or if
    /// none was tried yet.
    pub(crate) fn problem(&self) -> Option<Arc<str>> {
        let state = self.state.borrow();
        let problem = state.problem.as_ref()?;
        Some(format!("{}: {problem}", self.store).into())
    }

    /// Records that a write failed. The cause is logged unless an earlier one is still recorded.
    pub(crate) fn fail(&self, cause: &str) {
        let is_first = self.state.send_if_modified(|state| {
            if state.problem.is_some() {
                return false;
            }
            state.problem = Some(cause.into());
            true
        });
        if is_first {
            tracing::error!(store = %self.store, cause, "the store cannot write; reads continue");
        }
    }

    /// Records that a write succeeded, and logs it if writes failed before. The store stays read-only while
    /// another commit has no answer.
    pub(crate) fn recover(&self) {
        let recovered = self.state.send_if_modified(|state| {
            let recovers = state.overdue == 0 && state.problem.take().is_some();
            state.has_probe &= !recovers;
            recovers
        });
        if recovered {
            tracing::info!(store = %self.store, "the store can write again");
        }
    }

    /// Records that a commit has no answer. Until the returned value is dropped, further writes are refused,
    /// because each of them would occupy a connection as well.
    pub(crate) fn commit_overdue(&self) -> OverdueCommit {
        self.state.send_modify(|state| state.overdue += 1);
        self.fail(&format!("no answer to a commit; {}", self.hint));
        OverdueCommit {
            health: self.clone(),
        }
    }

    /// Waits until a commit is overdue, and returns the error with which further writes are refused.
    pub(crate) async fn refusal(&self) -> StoreError {
        let mut state = self.state.subscribe();
        // This is always `Ok`, because `self` holds the sender.
        let overdue = state.wait_for(|state| state.overdue > 0).await.ok();
        let problem = overdue.and_then(|state| state.problem.clone());
        StoreError::ReadOnly(problem.unwrap_or_else(|| "no answer to a commit".into()))
    }

    /// Returns whether the caller must probe the store until it can write again. Only one caller gets `true`,
    /// and none while writes succeed.
    pub(crate) fn claim_probe(&self) -> bool {
        self.state.send_if_modified(|state| {
            let is_claimed = state.problem.is_some() && !state.has_probe;
            state.has_probe |= is_claimed;
            is_claimed
        })
    }
}

impl Drop for OverdueCommit {
    fn drop(&mut self) {
        self.health.state.send_modify(|state| state.overdue -= 1);
        self.health.recover();
    }
}
