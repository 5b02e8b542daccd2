//! Runs writes that may still be unanswered when their callers must be answered.
//!
//! A caller waits for [`STATEMENT_TIMEOUT`]. If the commit of its write was not sent by then, the write is
//! withdrawn and does not happen. If the commit was sent, the write may happen, so its outcome is unknown.
//!
//! Each write runs to its end in a task, and keeps its connection meanwhile, because the server works on the
//! write whether or not a caller still waits. `commit.rs` has the state on which the caller and the task agree.
//! `health.rs` remembers whether the store can write.

mod commit;
mod health;

pub(crate) use commit::Commit;
pub(crate) use health::WriteHealth;

use crate::{
    STATEMENT_TIMEOUT, StoreError,
    sql_error::{CANTOPEN, IOERR, sqlite_code},
    statement::run_until,
};
use sqlx::Error;
use std::{pin::pin, time::Duration};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, Span};

/// The time that the server's answer may take after the server has ended a statement at [`STATEMENT_TIMEOUT`].
const ANSWER_DELAY: Duration = Duration::from_millis(500);

/// A write that continues in a task after its caller has gone.
pub(crate) struct WriteTask<S, L> {
    /// The name of the engine in spans.
    pub(crate) system: &'static str,
    /// The time by which the caller must have an answer.
    pub(crate) deadline: Instant,
    pub(crate) commit: Commit,
    /// The future that runs the statements. It calls [`Commit::mark_sent`] before it commits.
    pub(crate) statements: S,
    /// A future that completes when an unanswered write can no longer get an answer.
    pub(crate) connection_lost: L,
}

impl<T, S, L> WriteTask<S, L>
where
    T: Send + 'static,
    S: Future<Output = sqlx::Result<T>> + Send + 'static,
    L: Future<Output = ()> + Send + 'static,
{
    /// Runs the write, answers the caller by the deadline, and records in `health` whether the store can write.
    pub(crate) async fn run(self, health: &WriteHealth) -> Result<T, StoreError> {
        let caller = Caller {
            commit: self.commit.clone(),
        };
        let system = self.system;
        let deadline = self.deadline;
        let in_task = self.finish(health.clone());
        let answer = async {
            let task = tokio::spawn(in_task.instrument(Span::current()));
            task.await.unwrap_or(Err(Error::WorkerCrashed))
        };
        match run_until(deadline, system, answer).await {
            Ok(value) => {
                health.recover();
                Ok(value)
            }
            Err(error) => Err(explain_failure(error, &caller.commit, health)),
        }
    }

    /// Waits for the answer of the database. At the deadline, withdraws the write if its commit was not sent. A
    /// commit that is overdue makes the store read-only until it is answered or its connection is lost.
    async fn finish(self, health: WriteHealth) -> sqlx::Result<T> {
        let mut statements = pin!(self.statements);
        if let Ok(outcome) = timeout_at(self.deadline, &mut statements).await {
            return outcome;
        }
        let sent_at = self.commit.withdraw();
        let overdue_at = sent_at.unwrap_or(self.deadline) + STATEMENT_TIMEOUT + ANSWER_DELAY;
        if let Ok(outcome) = timeout_at(overdue_at, &mut statements).await {
            return outcome;
        }
        let _overdue = sent_at.map(|_| health.commit_overdue());
        tokio::select! {
            outcome = statements => outcome,
            () = self.connection_lost => Err(Error::PoolTimedOut),
        }
    }
}

/// Withdraws the write when its caller leaves, unless the commit was already sent.
struct Caller {
    commit: Commit,
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.commit.withdraw();
    }
}

/// Turns the error of a failed write into one that says whether the write may have happened, and records in
/// `health` why the store cannot write.
fn explain_failure(error: StoreError, commit: &Commit, health: &WriteHealth) -> StoreError {
    match error {
        StoreError::TimedOut if commit.withdraw().is_some() => StoreError::OutcomeUnknown {
            problem: "the database did not answer the commit in time",
            source: None,
        },
        StoreError::ReadOnly(cause) => {
            health.fail(&cause);
            StoreError::ReadOnly(cause)
        }
        // The disk failed for another reason than being full or read-only.
        StoreError::Unavailable(error) if matches!(sqlite_code(&error), Some(IOERR | CANTOPEN)) => {
            let cause = error.to_string();
            health.fail(&cause);
            if !commit.was_sent() {
                return StoreError::ReadOnly(cause.into());
            }
            // A commit that reached the disk in part may take effect after a power failure.
            StoreError::OutcomeUnknown {
                problem: "the disk failed during the commit",
                source: Some(error),
            }
        }
        StoreError::Unavailable(error) if commit.was_sent() && !is_answer(&error) => {
            StoreError::OutcomeUnknown {
                problem: "the connection to the database broke during the commit",
                source: Some(error),
            }
        }
        other => other,
    }
}

/// Returns whether the database itself has refused the write. This includes refusals that occur because a
/// pooler mixed up prepared statements.
fn is_answer(error: &Error) -> bool {
    error.as_database_error().is_some() || matches!(error, Error::Configuration(_))
}

#[cfg(test)]
mod tests;
