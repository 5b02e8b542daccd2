//! SQLite files: opening, transactions, pools, copies, their clock.
//!
//! One connection writes and the others read: in WAL mode readers never wait for the writer and see
//! every earlier commit. Statements that write must be read to their end (`fetch_all`, never
//! `fetch_optional`): only then has the commit happened, and its failure been seen.
//! `synchronous=FULL`: an acknowledged write survives a power failure.

pub(crate) mod clock;
pub(crate) mod code;
mod copy;
mod file;
mod open_files;
mod recovery;
pub(crate) mod same_file;

pub use copy::{CopyError, DatabaseCopy, Replacement};
pub use file::file_exists;

use crate::{
    PoolStats, QueryFuture, STATEMENT_TIMEOUT, Schema, Statement, StoreError, StoreStatus,
    TableRow, Tables,
    error::OpenFailure,
    transient::cause,
    with_timeout,
    write::{self, Commit, WriteHealth},
};
use code::{AUTH, BUSY, CANTOPEN, LOCKED, NOTADB, PERM, READONLY, primary_code};
use file::{lock_exclusive, private_file};
use open_files::OpenFiles;
use sqlx::{
    ConnectOptions, Connection, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{
    future::pending,
    path::Path,
    sync::{Arc, OnceLock},
};
use tokio::time::Instant;

/// Starts a transaction as the writer. A deferred one would fail at its first write if another
/// process wrote after its first read.
const IMMEDIATE: &str = "BEGIN IMMEDIATE";

/// Connections that read; each has its own thread.
const READERS: u32 = 4;

/// To this size the log shrinks when it starts anew: a long read keeps it from that, and it grows.
const MAX_IDLE_LOG_BYTES: &str = "16777216";

/// An open file. Processes of one machine may share it.
#[derive(Clone, Debug)]
pub struct Pools {
    /// The one connection that writes.
    writer: SqlitePool,
    /// The connections that read.
    readers: SqlitePool,
    files: Arc<OpenFiles>,
    /// Set once the clock is started; empty for files without one.
    clock: Arc<OnceLock<clock::Clock>>,
    health: WriteHealth,
}

/// Opens the file, created if it is missing, and migrates its schema. Processes that do so at once
/// take turns. A file with an unrecognized schema stays unchanged. With `advances_clock` the clock of the file
/// starts, and is advanced to the time of the system if that is true.
pub(crate) async fn open(
    file: &Path,
    tables: &Tables,
    advances_clock: Option<bool>,
) -> Result<Pools, OpenFailure> {
    let exists = || file_exists(file).map_err(OpenFailure::Setting);
    exists()?;
    let lock = lock_exclusive(file).await?;
    if exists()? {
        let mut connection = connect_read_only(file).await?;
        Schema::in_sqlite(&mut connection, tables).await?;
        connection.close().await?;
    }
    private_file(file)?;
    let pools = open_pools(file, tables).await?;
    drop(lock);
    if let Some(is_service) = advances_clock {
        pools.start_clock(is_service).await?;
    }
    Ok(pools)
}

/// Opens one connection, which does not create the file.
pub(crate) async fn connect_read_only(file: &Path) -> sqlx::Result<SqliteConnection> {
    SqliteConnectOptions::new().filename(file).read_only(true).connect().await
}

async fn open_pools(file: &Path, tables: &Tables) -> sqlx::Result<Pools> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("journal_size_limit", MAX_IDLE_LOG_BYTES)
        .busy_timeout(STATEMENT_TIMEOUT);
    let files = Arc::new(OpenFiles::default());
    let pool = || {
        let opened = Arc::clone(&files);
        SqlitePoolOptions::new()
            .acquire_timeout(STATEMENT_TIMEOUT)
            // The last connection to close would delete the log.
            .idle_timeout(None)
            .max_lifetime(None)
            .after_connect(move |_, _| {
                let checked = opened.check().map_err(sqlx::Error::from);
                Box::pin(async { checked })
            })
    };
    let writer = pool().max_connections(1).after_release(|writer, _| {
        Box::pin(async move {
            // After a commit that failed, SQLite has rolled back and sqlx still counts a transaction,
            // in which every later BEGIN would fail.
            writer.ping().await?;
            Ok(!writer.is_in_transaction())
        })
    });
    let writer = writer.connect_with(options.clone()).await?;
    tables.sqlite().run(&writer).await?;
    files.remember(file)?;
    let readers = pool().max_connections(READERS).test_before_acquire(false);
    let readers = readers.connect_with(options.read_only(true)).await?;
    let health = WriteHealth::new(format!("SQLite in {}", file.display()), "the disk may hang");
    Ok(Pools { writer, readers, files, clock: Arc::default(), health })
}

/// What is wrong with the file; `None` if the machine failed.
pub(crate) fn setting_problem(file: &Path, error: &sqlx::Error) -> Option<String> {
    let file = file.display();
    match primary_code(error) {
        Some(NOTADB) => Some(format!("{file} is not an SQLite database")),
        Some(PERM | READONLY | CANTOPEN | AUTH) => {
            Some(format!("{file} cannot be opened to read and write: {error}"))
        }
        _ => None,
    }
}

/// Whether another process holds a lock of the file, or the disk does not answer.
pub(crate) fn may_recover(error: &sqlx::Error) -> bool {
    // The pool gives up at the same time as the connection that it opens.
    matches!(error, sqlx::Error::PoolTimedOut)
        || matches!(primary_code(cause(error)), Some(BUSY | LOCKED))
}

impl Pools {
    /// Runs statements as one transaction within [`STATEMENT_TIMEOUT`]. A timeout or a dropped future
    /// rolls back, unless the commit has begun; a statement outside a transaction would still run when
    /// its turn comes.
    pub async fn write<T: Send + 'static>(
        &self,
        statements: impl for<'c> FnOnce(&'c mut SqliteConnection) -> QueryFuture<'c, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let written = self.try_write(statements).await;
        if written.is_err() && self.health.claim_probe() {
            tokio::spawn(recovery::probe(self.clone()));
        }
        written
    }

    async fn try_write<T: Send + 'static>(
        &self,
        statements: impl for<'c> FnOnce(&'c mut SqliteConnection) -> QueryFuture<'c, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (writer, files) = (self.writer.clone(), Arc::clone(&self.files));
        let commit = Commit::default();
        let sending = commit.clone();
        let write = async move {
            files.check()?;
            let mut transaction = writer.begin_with(IMMEDIATE).await?;
            let value = statements(&mut transaction).await?;
            sending.send()?;
            transaction.commit().await?;
            // Without its name the file that has this write is lost.
            files.check()?;
            Ok(value)
        };
        let deadline = Instant::now() + STATEMENT_TIMEOUT;
        write::run("sqlite", &self.health, commit, deadline, pending(), Box::pin(write)).await
    }

    /// A transaction without a limit of its time. One that reads sees one state of the file.
    pub(crate) async fn begin(
        &self,
        reads_only: bool,
    ) -> sqlx::Result<Transaction<'static, Sqlite>> {
        self.check_files()?;
        if reads_only {
            self.readers.begin().await
        } else {
            self.writer.begin_with(IMMEDIATE).await
        }
    }

    /// The rows of a `SELECT`.
    pub(crate) async fn read<R: TableRow>(
        &self,
        statement: Statement,
    ) -> Result<Vec<R>, StoreError> {
        with_timeout(async {
            self.files.last_check()?;
            let mut reader = self.readers.acquire().await?;
            statement.fetch(&mut crate::Connection::Sqlite(&mut reader)).await
        })
        .await
    }

    /// Fails while the files are not where they were opened.
    pub(crate) fn check_files(&self) -> sqlx::Result<()> {
        Ok(self.files.check()?)
    }

    fn write_problem(&self) -> Option<Arc<str>> {
        self.health.problem()
    }

    /// The state of both pools, and of the last write.
    #[must_use]
    pub fn status(&self) -> StoreStatus {
        let pools = [("readers", &self.readers), ("writer", &self.writer)];
        let pools = pools.map(|(name, pool)| PoolStats::of(name, pool)).to_vec();
        StoreStatus { pools, write_problem: self.write_problem() }
    }

    /// Finishes running statements and closes every connection.
    pub async fn close(&self) {
        if self.files.is_database_lost() {
            // Closing would delete the log of the database that is at the path now.
            std::mem::forget(self.clone());
            return;
        }
        self.readers.close().await;
        // Last, so that it can checkpoint the WAL.
        self.writer.close().await;
    }
}
