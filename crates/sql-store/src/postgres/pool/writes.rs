//! Writes, which may wait for their commits without an end: while a synchronous standby is lost, the
//! server answers none.

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
    time::{Instant, sleep, timeout, timeout_at},
};

/// How often the server is asked about a commit without an answer.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a commit may stay unanswered before one write searches for a new primary, and the pause
/// between searches.
const SEARCH_INTERVAL: Duration = Duration::from_millis(500);

/// Whether this server process is busy for so long that it may wait for a commit.
const IS_BUSY: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1
    AND state = 'active' AND query_start < clock_timestamp() - interval '1 second')";

/// The delays before a transaction that the server rolled back runs again.
const MIN_ROLLBACK_DELAY: Duration = Duration::from_millis(5);
const MAX_ROLLBACK_DELAY: Duration = Duration::from_millis(200);

/// Stands for the id of a server process before there is a connection.
const NOT_CONNECTED: i32 = 0;

impl Pool {
    /// Runs a statement or a transaction that writes and calls [`Commit::mark_sent`] before its commit,
    /// within [`STATEMENT_TIMEOUT`]. Writes hold at most half of the connections.
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

    /// Like [`Self::write`], but runs it again while the server rolls it back because of another transaction. Nothing
    /// of it was done then.
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

    /// Waits for a permit to write; refused at once while a commit is overdue.
    async fn acquire_write_permit(
        &self,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, StoreError> {
        let permit = async {
            tokio::select! {
                biased;
                refusal = self.health.refusal() => Err(refusal),
                permit = Arc::clone(&self.write_permits).acquire_owned() => {
                    permit.map_err(|_| StoreError::Unavailable(sqlx::Error::PoolClosed.into()))
                }
            }
        };
        timeout_at(deadline, permit)
            .await
            .unwrap_or(Err(StoreError::TimedOut))
    }
}

/// Ends when another server was promoted after the one of this timeline. An old primary that lives
/// answers no commit and does not say why, so while this one is unanswered a successor is searched for.
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

/// Ends when the server has no such process, or an idle one: then the connection is dead, or leads to
/// a server that is not the primary any more. Asks on new connections, because an old primary may be
/// alive and not know its successor.
async fn wait_until_lost(pool: Pool, pid: Arc<AtomicI32>) {
    loop {
        sleep(CHECK_INTERVAL).await;
        // Serialized: without a primary, every waiting write would keep connecting to all servers.
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
