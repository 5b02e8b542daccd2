//! Runs the transactions and reads of an open file on its connections, and probes the file while writes fail.

use super::open_files::OpenFiles;
#[cfg(simulation)]
use crate::simulated::{self, SqlitePool};
use crate::{
    FileClock, PoolStats, QueryFuture, STATEMENT_TIMEOUT, Statement, StoreError, StoreStatus,
    Timed,
    clock::{CachedClock, reserve},
    row::Rows,
    statement::{Connection, run_until},
    write::{Commit, WriteHealth, WriteTask},
};
use futures_util::future::BoxFuture;
#[cfg(not(simulation))]
use sqlx::SqlitePool;
use sqlx::{AssertSqlSafe, SqliteConnection};
use std::{
    future::pending,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::time::Instant;

/// Starts a transaction as the writer. A deferred transaction would fail at its first write if another process
/// wrote after its first read.
pub(crate) const IMMEDIATE: &str = "BEGIN IMMEDIATE";

/// The time between two attempts to write while writes fail. After the cause is gone, writes are accepted again
/// within this time.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// The pause between two writes that reserve time for the clock.
const RESERVE_INTERVAL: Duration = Duration::from_secs(5);

/// An open file, which several processes of one machine may share.
#[derive(Clone, Debug)]
pub struct Pools {
    /// The pool of the connection that writes. SQLite lets only one connection write at a time, so more
    /// connections would only wait for its lock. Other processes have a writer of their own.
    pub(crate) writer: SqlitePool,
    /// The pool of the connections that read.
    pub(crate) readers: SqlitePool,
    pub(crate) files: Arc<OpenFiles>,
    pub(super) clock: Arc<CachedClock>,
    pub(super) health: WriteHealth,
}

impl Pools {
    /// Runs statements as one transaction, within [`STATEMENT_TIMEOUT`]. If the file cannot be written, starts
    /// a task that probes the file until a write succeeds.
    ///
    /// A timeout or a dropped future rolls the transaction back, unless the commit has begun. So even a single
    /// statement needs a transaction: without one, it would still run when its turn comes.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        statements: impl for<'c> FnOnce(&'c mut SqliteConnection) -> QueryFuture<'c, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let writer = self.writer.clone();
        let files = Arc::clone(&self.files);
        let commit = Commit::default();
        let commit_of_task = commit.clone();
        let transaction = async move {
            files.ensure_not_replaced()?;
            let mut transaction = writer.begin_with(IMMEDIATE).await?;
            let value = statements(&mut transaction).await?;
            // From here on, a timeout means that the outcome is unknown.
            commit_of_task.mark_sent()?;
            transaction.commit().await?;
            // If the file was deleted or replaced meanwhile, this write went to a file that no other program
            // can open, so the write fails.
            files.ensure_not_replaced()?;
            Ok(value)
        };
        #[cfg(simulation)]
        let transaction = simulated::write(self.writer.clone(), transaction);
        let task = WriteTask {
            system: "sqlite",
            deadline: Instant::now() + STATEMENT_TIMEOUT,
            commit,
            statements: Box::pin(transaction),
            // The file is on this machine, so there is no connection that could break.
            connection_lost: pending(),
        };
        let written = task.run(&self.health).await;
        if written.is_err() && self.health.claim_probe() {
            tokio::spawn(probe(self.clone()));
        }
        written
    }

    /// Does the same as [`Self::read`], and returns the time of the clock before the read. Fails if the clock was not
    /// started.
    pub(crate) async fn read_timed(&self, statement: Statement) -> Result<Timed<Rows>, StoreError> {
        let at = self.clock.now(|| {
            tokio::spawn(reserve_time(self.clone()));
        })?;
        Ok(Timed {
            at,
            value: self.read(statement).await?,
        })
    }

    /// Runs a `SELECT` on a connection that only reads, and returns its rows.
    pub(crate) async fn read(&self, statement: Statement) -> Result<Rows, StoreError> {
        let read = async {
            // The files are checked again only if the last check failed, because a check makes system calls.
            if self.files.is_lost.load(Relaxed) {
                self.files.ensure_not_replaced()?;
            }
            let mut reader = self.readers.acquire().await?;
            statement.fetch(&mut Connection::Sqlite(&mut reader)).await
        };
        #[cfg(simulation)]
        let read = simulated::read(&self.readers, read);
        run_until(Instant::now() + STATEMENT_TIMEOUT, "sqlite", read).await
    }

    /// Starts the clock as `clock` says.
    pub(super) async fn start_clock(&self, clock: FileClock) -> sqlx::Result<()> {
        if clock == FileClock::Unused {
            return Ok(());
        }
        self.clock
            .start(clock, &mut *self.writer.acquire().await?)
            .await
    }

    /// Returns the state of both pools, and the reason why writes fail, if they do.
    pub(crate) fn status(&self) -> StoreStatus {
        StoreStatus {
            pools: vec![
                pool_stats("readers", &self.readers),
                pool_stats("writer", &self.writer),
            ],
            write_problem: self.health.problem(),
        }
    }

    /// Waits for running statements and closes every connection, unless the file was deleted or replaced.
    pub(crate) async fn close(&self) {
        if self.files.is_database_lost() {
            // Closing the last connection would delete the write-ahead log of the database that is now at the
            // path. This clone is never dropped, and keeps the connections open.
            std::mem::forget(self.clone());
            return;
        }
        self.readers.close().await;
        // The writer is closed last, so that it can checkpoint the write-ahead log.
        self.writer.close().await;
    }
}

fn pool_stats(name: &'static str, pool: &SqlitePool) -> PoolStats {
    let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let open = size(pool.size());
    PoolStats {
        name,
        open,
        // The two numbers are not read atomically, so the number of idle connections could be greater.
        idle: pool.num_idle().min(open),
        limit: size(pool.options().get_max_connections()),
    }
}

/// Reserves time for the clock. A failure is not handled here: [`Pools::write`] records it, and a later read of the
/// time tries again.
fn reserve_time(pools: Pools) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let reserved = pools.write(|writer| Box::pin(reserve(writer))).await;
        if let Ok(Some(row)) = reserved {
            pools.clock.replace_row(row);
        }
        tokio::time::sleep(RESERVE_INTERVAL).await;
        pools.clock.end_reservation();
    })
}

/// Probes a file that could not be written. It ends after the first successful write, whether of the probe or
/// of another caller, or when the pool is closed.
///
/// A probe that fails starts no other probe, because the health of the store remembers the one that runs.
fn probe(pools: Pools) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        while pools.health.problem().is_some() && !pools.writer.is_closed() {
            tokio::time::sleep(PROBE_INTERVAL).await;
            let _ = pools
                .write(|writer| Box::pin(rewrite_first_page(writer)))
                .await;
        }
    })
}

/// Writes the first page of the file without changing its content.
async fn rewrite_first_page(writer: &mut SqliteConnection) -> sqlx::Result<()> {
    let version = sqlx::query_scalar::<_, i32>("PRAGMA user_version")
        .fetch_one(&mut *writer)
        .await?;
    let same = AssertSqlSafe(format!("PRAGMA user_version = {version}"));
    sqlx::query(same).execute(writer).await.map(drop)
}

#[cfg(test)]
mod tests {
    use crate::{DatabaseUrl, Engine, Store as _, test_support::open_with_table};

    #[tokio::test]
    async fn probe_reaches_the_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.db");
        let url = DatabaseUrl::from_file("DATABASE_URL", file.clone());
        let opened = open_with_table(&url, "CREATE TABLE t (i INTEGER)").await;
        let Engine::Sqlite(pools) = &opened.engine else {
            panic!("a file")
        };
        let log_size = || {
            file.with_extension("db-wal")
                .metadata()
                .expect("there")
                .len()
        };
        let before = log_size();
        let probed = pools
            .write(|writer| Box::pin(super::rewrite_first_page(writer)))
            .await;
        probed.expect("written");
        assert!(log_size() > before, "nothing was written");
        opened.close().await;
    }
}
