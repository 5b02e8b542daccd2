//! Writes that have not been answered when their callers must be.
//!
//! A caller waits for [`STATEMENT_TIMEOUT`]. A write whose commit was not sent by then is withdrawn: it
//! does not happen. One whose commit was sent may happen, so its outcome is unknown. Each runs to its end
//! in a task and keeps its connection meanwhile: the server works on it whether or not anybody listens.

mod health;

pub(crate) use health::WriteHealth;

use crate::{
    STATEMENT_TIMEOUT, StoreError,
    span::traced,
    sql_error::{CANTOPEN, IOERR, sqlite_code},
};
use parking_lot::Mutex;
use sqlx::Error;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, Span};

/// The server ends a statement at [`STATEMENT_TIMEOUT`]; its answer takes some time more.
const ANSWER_DELAY: Duration = Duration::from_millis(500);

/// Whether the commit of a write may be sent. Clones share the state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commit(Arc<Mutex<Stage>>);

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    NotSent,
    Sent(Instant),
    /// Ended without a commit.
    Done,
}

impl Commit {
    /// To be called before the statement that commits is sent. An error if the write was withdrawn.
    pub(crate) fn send(&self) -> sqlx::Result<()> {
        let mut stage = self.0.lock();
        if matches!(*stage, Stage::Done) {
            return Err(Error::PoolTimedOut);
        }
        *stage = Stage::Sent(Instant::now());
        Ok(())
    }

    /// Notes that the server has rolled the write back. Returns whether it may run again: the caller still waits.
    pub(crate) fn roll_back(&self) -> bool {
        let mut stage = self.0.lock();
        if matches!(*stage, Stage::Done) {
            return false;
        }
        *stage = Stage::NotSent;
        true
    }

    /// When the commit was sent. If it was not, it never will be.
    fn withdraw(&self) -> Option<Instant> {
        let mut stage = self.0.lock();
        if let Stage::Sent(at) = *stage {
            return Some(at);
        }
        *stage = Stage::Done;
        None
    }

    /// Whether the commit was sent, so that the write may have happened.
    pub(crate) fn was_sent(&self) -> bool {
        matches!(*self.0.lock(), Stage::Sent(_))
    }
}

/// Runs `write`, which calls [`Commit::send`] before it commits, and answers the caller by `deadline`.
/// `connection_lost` ends when an unanswered write can get no answer any more.
pub(crate) async fn run<T: Send + 'static>(
    system: &'static str,
    health: &WriteHealth,
    commit: Commit,
    deadline: Instant,
    connection_lost: impl Future<Output = ()> + Send + 'static,
    write: impl Future<Output = sqlx::Result<T>> + Send + 'static,
) -> Result<T, StoreError> {
    let caller = Caller(commit.clone());
    let in_task = finish(write, commit, deadline, connection_lost, health.clone());
    let answer = async {
        let task = tokio::spawn(in_task.instrument(Span::current()));
        task.await.unwrap_or(Err(Error::WorkerCrashed))
    };
    match traced(system, deadline, answer).await {
        Ok(value) => {
            health.recover();
            Ok(value)
        }
        Err(StoreError::TimedOut) if caller.0.withdraw().is_some() => {
            Err(StoreError::OutcomeUnknown {
                problem: "the database did not answer the commit in time",
                source: None,
            })
        }
        Err(StoreError::ReadOnly(cause)) => {
            health.fail(&cause);
            Err(StoreError::ReadOnly(cause))
        }
        // The disk failed otherwise than by being full or read-only.
        Err(StoreError::Unavailable(error))
            if matches!(sqlite_code(&error), Some(IOERR | CANTOPEN)) =>
        {
            let cause = error.to_string();
            health.fail(&cause);
            // A commit that reached the disk in part may be found there after a power failure.
            Err(if caller.0.was_sent() {
                StoreError::OutcomeUnknown {
                    problem: "the disk failed during the commit",
                    source: Some(error),
                }
            } else {
                StoreError::ReadOnly(cause.into())
            })
        }
        // The server has not answered the commit. A statement that a pooler mixed up was refused.
        Err(StoreError::Unavailable(error))
            if caller.0.was_sent()
                && error.as_database_error().is_none()
                && !matches!(*error, Error::Configuration(_)) =>
        {
            let problem = "the connection to the database broke during the commit";
            Err(StoreError::OutcomeUnknown {
                problem,
                source: Some(error),
            })
        }
        other => other,
    }
}

/// Withdraws the write of a caller that leaves.
struct Caller(Commit);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

/// Waits for the answer. A commit that is overdue makes the store read-only until then.
async fn finish<T>(
    write: impl Future<Output = sqlx::Result<T>>,
    commit: Commit,
    deadline: Instant,
    connection_lost: impl Future<Output = ()>,
    health: WriteHealth,
) -> sqlx::Result<T> {
    let mut write = pin!(write);
    if let Ok(outcome) = timeout_at(deadline, &mut write).await {
        return outcome;
    }
    let sent = commit.withdraw();
    let overdue_at = sent.unwrap_or(deadline) + STATEMENT_TIMEOUT + ANSWER_DELAY;
    if let Ok(outcome) = timeout_at(overdue_at, &mut write).await {
        return outcome;
    }
    let _overdue = sent.map(|_| health.commit_overdue());
    tokio::select! {
        outcome = write => outcome,
        () = connection_lost => Err(Error::PoolTimedOut),
    }
}

#[cfg(test)]
mod tests;
