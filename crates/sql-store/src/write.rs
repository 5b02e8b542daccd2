//! Writes that have not been answered when their callers must be.
//!
//! A caller waits for [`STATEMENT_TIMEOUT`]. A write whose commit was not sent by then is withdrawn: it
//! does not happen. One whose commit was sent may happen, so its outcome is unknown. Both run to their
//! ends in a task and keep their connections meanwhile: the server works on them whether or not anybody
//! listens.

mod health;
mod long_transaction;

pub(crate) use health::WriteHealth;
pub use long_transaction::LongTransaction;

use crate::{
    STATEMENT_TIMEOUT, StoreError, sqlite::code::is_disk_failure, statement::traced_until,
};
use sqlx::Error;
use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    runtime::Handle,
    time::{Instant, timeout_at},
};

/// The server ends a statement at [`STATEMENT_TIMEOUT`]; its answer takes some time more.
const ANSWER_DELAY: Duration = Duration::from_millis(500);

/// Whether the commit of a write may be sent. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Commit(Arc<Mutex<Stage>>);

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Pending,
    Sent(Instant),
    Withdrawn,
}

impl Commit {
    /// To be called before the statement that commits is sent. An error if the write was withdrawn.
    pub fn send(&self) -> sqlx::Result<()> {
        let mut stage = self.stage();
        if matches!(*stage, Stage::Withdrawn) {
            return Err(Error::PoolTimedOut);
        }
        *stage = Stage::Sent(Instant::now());
        Ok(())
    }

    /// When the commit was sent. If it was not, it never will be.
    fn withdraw(&self) -> Option<Instant> {
        let mut stage = self.stage();
        if let Stage::Sent(at) = *stage {
            return Some(at);
        }
        *stage = Stage::Withdrawn;
        None
    }

    /// Whether the commit was sent, so that the write may have happened.
    pub(crate) fn was_sent(&self) -> bool {
        matches!(*self.stage(), Stage::Sent(_))
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The limits of a write.
pub(crate) struct Limits<L> {
    /// When the caller must be answered.
    pub(crate) deadline: Instant,
    /// Ends when an unanswered write can get no answer any more.
    pub(crate) connection_lost: L,
}

/// Runs `write`, which calls [`Commit::send`] before it commits.
pub(crate) async fn run<T: Send + 'static>(
    system: &'static str,
    health: &WriteHealth,
    commit: Commit,
    limits: Limits<impl Future<Output = ()> + Send + 'static>,
    write: Pin<Box<impl Future<Output = sqlx::Result<T>> + Send + 'static>>,
) -> Result<T, StoreError> {
    let deadline = limits.deadline;
    let mut unanswered = Unanswered {
        parts: Some((write, limits.connection_lost)),
        commit: commit.clone(),
        health: health.clone(),
    };
    let Some((write, _)) = &mut unanswered.parts else { return Err(StoreError::TimedOut) };
    let outcome = traced_until(system, deadline, write.as_mut()).await;
    if matches!(outcome, Err(StoreError::TimedOut)) {
        return Err(match commit.withdraw() {
            Some(_) => StoreError::OutcomeUnknown,
            None => StoreError::TimedOut,
        });
    }
    unanswered.parts = None;
    match outcome {
        Ok(value) => {
            health.recover();
            Ok(value)
        }
        Err(StoreError::ReadOnly(cause)) => {
            health.fail(&cause);
            Err(StoreError::ReadOnly(cause))
        }
        Err(StoreError::Unavailable(error)) if is_disk_failure(&error) => {
            let cause = error.to_string();
            health.fail(&cause);
            // A commit that reached the disk in part may be found there after a power failure.
            let is_undone = !commit.was_sent();
            Err(if is_undone {
                StoreError::ReadOnly(cause.into())
            } else {
                StoreError::Unavailable(error)
            })
        }
        // The server has not answered the commit.
        Err(StoreError::Unavailable(error))
            if commit.was_sent() && error.as_database_error().is_none() =>
        {
            Err(StoreError::ConnectionLost(error))
        }
        other => other,
    }
}

/// A write whose caller leaves before its end. Dropped, it continues in a task.
struct Unanswered<T, W, L>
where
    T: Send + 'static,
    W: Future<Output = sqlx::Result<T>> + Send + 'static,
    L: Future<Output = ()> + Send + 'static,
{
    parts: Option<(Pin<Box<W>>, L)>,
    commit: Commit,
    health: WriteHealth,
}

impl<T, W, L> Drop for Unanswered<T, W, L>
where
    T: Send + 'static,
    W: Future<Output = sqlx::Result<T>> + Send + 'static,
    L: Future<Output = ()> + Send + 'static,
{
    fn drop(&mut self) {
        let Some((write, connection_lost)) = self.parts.take() else { return };
        let sent = self.commit.withdraw();
        // At the end of the program there is no runtime.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(finish(write, sent, connection_lost, self.health.clone()));
        }
    }
}

/// Waits for the answer. A commit that is overdue makes the store read-only until then.
async fn finish<T>(
    mut write: Pin<Box<impl Future<Output = sqlx::Result<T>>>>,
    sent: Option<Instant>,
    connection_lost: impl Future<Output = ()>,
    health: WriteHealth,
) {
    let overdue_at = sent.unwrap_or_else(Instant::now) + STATEMENT_TIMEOUT + ANSWER_DELAY;
    if timeout_at(overdue_at, &mut write).await.is_ok() {
        return;
    }
    let _overdue = sent.map(|_| health.commit_overdue());
    tokio::select! {
        _ = write => {}
        () = connection_lost => {}
    }
}

#[cfg(test)]
mod tests;
