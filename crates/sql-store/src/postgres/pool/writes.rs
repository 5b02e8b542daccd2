//! Runs writes, whose commits may wait forever: while a synchronous standby is lost, the server answers no
//! commit.
//!
//! A write holds one of a limited number of permits, and continues in a task after its caller has timed out
//! (`write.rs`). Two checks run beside the write. One ends it when another server was promoted. The other,
//! which begins when the write is overdue, ends it when the connection turns out to be dead.

use super::Pool;
use crate::{
    QueryFuture, STATEMENT_TIMEOUT, StoreError,
    postgres::primary::Obstacle,
    retry::Backoff,
    sql_error::is_rolled_back,
    write::{Commit, WriteTask},
};
use sqlx::PgConnection;
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep, sleep_until, timeout},
};

/// The interval at which the server is asked about a commit without an answer.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The time that a commit may stay unanswered before a write looks for a new primary, and the minimum time
/// between two such searches.
const SEARCH_INTERVAL: Duration = Duration::from_millis(500);

/// Asks whether a server process has been busy with one statement for so long that it may be waiting for a
/// commit.
const IS_BUSY: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1
    AND state = 'active' AND query_start < clock_timestamp() - interval '1 second')";

/// The minimum and the maximum delay before a transaction that the server rolled back runs again.
const MIN_ROLLBACK_DELAY: Duration = Duration::from_millis(5);
const MAX_ROLLBACK_DELAY: Duration = Duration::from_millis(200);

/// Stands for the id of a server process while there is no connection yet.
const NOT_CONNECTED: i32 = 0;

impl Pool {
    /// Runs a statement or a transaction that writes, within [`STATEMENT_TIMEOUT`]. `statement` must call
    /// [`Commit::mark_sent`] before its commit. Writes hold at most half of the connections.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut PgConnection, Commit) -> QueryFuture<'c, T>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + STATEMENT_TIMEOUT;
        let permit = self.acquire_write_permit(deadline).await?;
        let pool = self.clone();
        let commit = Commit::default();
        let commit_of_task = commit.clone();
        let pid = Arc::new(AtomicI32::new(NOT_CONNECTED));
        let connection_lost = wait_until_lost(self.clone(), Arc::clone(&pid));
        let statements = async move {
            let _permit = permit;
            let execute = pool.execute(|session| {
                pid.store(session.pid, Ordering::Relaxed);
                let superseded =
                    wait_until_superseded(pool.clone(), session.timeline, commit_of_task.clone());
                let statement = statement(&mut session.connection, commit_of_task);
                Box::pin(async move {
                    tokio::select! {
                        biased;
                        outcome = statement => outcome,
                        obstacle = superseded => Err(obstacle.into()),
                    }
                })
            });
            execute.await
        };
        let task = WriteTask {
            system: "postgresql",
            deadline,
            commit,
            statements: Box::pin(statements),
            connection_lost,
        };
        task.run(&self.health).await
    }

    /// Does the same as [`Self::write`], but repeats the write while the server rolls it back because of a
    /// conflict with another transaction. This is safe, because a write that was rolled back has changed
    /// nothing.
    pub(crate) async fn write_with_retries<T: Send + 'static>(
        &self,
        statement: impl for<'c> Fn(&'c mut PgConnection, Commit) -> QueryFuture<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StoreError> {
        let write = self.write(move |connection, commit| {
            Box::pin(async move {
                let mut backoff = Backoff::between(MIN_ROLLBACK_DELAY, MAX_ROLLBACK_DELAY);
                loop {
                    let outcome = statement(&mut *connection, commit.clone()).await;
                    let is_rolled_back = outcome.as_ref().is_err_and(is_rolled_back);
                    if !is_rolled_back || !commit.roll_back() {
                        return outcome;
                    }
                    backoff.wait().await;
                }
            })
        });
        write.await
    }

    /// Waits for a permit to write, until `deadline`. While a commit is overdue, the write is refused at once.
    async fn acquire_write_permit(
        &self,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, StoreError> {
        tokio::select! {
            biased;
            refusal = self.health.refusal() => Err(refusal),
            // The semaphore is never closed.
            Ok(permit) = Arc::clone(&self.write_permits).acquire_owned() => Ok(permit),
            () = sleep_until(deadline) => Err(StoreError::TimedOut),
        }
    }
}

/// Waits until another server is promoted after the one with this timeline. Returns the error for the write.
///
/// An old primary that is still alive answers no commit and does not say why. So while this commit is
/// unanswered, one write at a time looks for a successor.
async fn wait_until_superseded(pool: Pool, timeline: Option<i64>, commit: Commit) -> Obstacle {
    let mut superseded = pin!(pool.connector().timeline.wait_until_superseded(timeline));
    loop {
        if let Ok(obstacle) = timeout(SEARCH_INTERVAL, superseded.as_mut()).await {
            return obstacle;
        }
        if commit.was_sent()
            && let Ok(mut last_search) = pool.last_search.try_lock()
            && last_search.is_none_or(|last| last.elapsed() >= SEARCH_INTERVAL)
        {
            Box::pin(pool.connector().search_primary()).await;
            *last_search = Some(Instant::now());
        }
    }
}

/// Waits until the server has no process with this id, or the process is idle. The connection is then dead, or
/// leads to a server that is no longer the primary.
///
/// Each check uses a new connection, because an old primary may be alive and not know its successor.
async fn wait_until_lost(pool: Pool, pid: Arc<AtomicI32>) {
    loop {
        sleep(CHECK_INTERVAL).await;
        // Writes check one after the other. Otherwise, without a primary, every waiting write would keep
        // connecting to all servers.
        let _search = pool.last_search.lock().await;
        pool.connector().suspect_server();
        let check = sqlx::query_scalar(IS_BUSY).bind(pid.load(Ordering::Relaxed));
        let is_busy = pool.run(|connection| Box::pin(check.fetch_one(connection)));
        if matches!(Box::pin(is_busy).await, Ok(false)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
