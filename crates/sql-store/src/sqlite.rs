//! SQLite files: opening, transactions, pools.
//!
//! One connection writes and the others read: in WAL mode readers never wait for the writer and see
//! every earlier commit. Statements that write must be read to their end (`fetch_all`, never
//! `fetch_optional`): only then has the commit happened, and its failure been seen.
//! `synchronous=FULL`: an acknowledged write survives a power failure.

mod file;

pub(crate) use file::file_exists;

use crate::{
    PoolStats, QueryFuture, STATEMENT_TIMEOUT, Schema, StoreError, Tables, error::OpenFailure,
    transient::cause, with_timeout,
};
use file::{lock_exclusive, private_file};
use sqlx::{
    ConnectOptions, Connection, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::path::Path;

/// Starts a transaction as the writer. A deferred one would fail at its first write if another
/// process wrote after its first read.
const IMMEDIATE: &str = "BEGIN IMMEDIATE";

/// Connections that read; each has its own thread.
const READERS: u32 = 4;

const PERM: i32 = 3;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READONLY: i32 = 8;
const CANTOPEN: i32 = 14;
const AUTH: i32 = 23;
const NOTADB: i32 = 26;

/// An open file. Processes of one machine may share it.
#[derive(Clone, Debug)]
pub struct Pools {
    /// The one connection that writes.
    writer: SqlitePool,
    /// The connections that read.
    pub(crate) readers: SqlitePool,
}

/// Opens the file, created if it is missing, and migrates its schema. Processes that do so at once
/// take turns. A file with an unrecognized schema stays unchanged.
pub(crate) async fn open(file: &Path, tables: &Tables) -> Result<Pools, OpenFailure> {
    let exists = || file_exists(file).map_err(OpenFailure::Setting);
    exists()?;
    let lock = lock_exclusive(file).await?;
    if exists()? {
        let mut connection = connect_read_only(file).await?;
        Schema::in_sqlite(&mut connection, tables).await?;
        connection.close().await?;
    }
    private_file(file)?;
    let pools = open_pools(file, tables).await;
    drop(lock);
    Ok(pools?)
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
        .busy_timeout(STATEMENT_TIMEOUT);
    let pool = || SqlitePoolOptions::new().acquire_timeout(STATEMENT_TIMEOUT);
    let writer = pool().max_connections(1).connect_with(options.clone()).await?;
    tables.sqlite().run(&writer).await?;
    let readers = pool().max_connections(READERS).test_before_acquire(false);
    let readers = readers.connect_with(options.read_only(true)).await?;
    Ok(Pools { writer, readers })
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

/// Whether another process holds a lock of the file.
pub(crate) fn is_locked(error: &sqlx::Error) -> bool {
    matches!(primary_code(cause(error)), Some(BUSY | LOCKED))
}

/// The low byte of a result code of SQLite.
fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?.parse::<i32>().ok()?;
    Some(code & 0xff)
}

impl Pools {
    /// Runs statements as one transaction within [`STATEMENT_TIMEOUT`]. A timeout or a dropped future
    /// rolls back; a statement outside a transaction would still run when its turn comes.
    pub async fn write<T: Send>(
        &self,
        statements: impl for<'c> FnOnce(&'c mut SqliteConnection) -> QueryFuture<'c, T> + Send,
    ) -> Result<T, StoreError> {
        with_timeout(async {
            let mut transaction = self.writer.begin_with(IMMEDIATE).await?;
            let value = statements(&mut transaction).await?;
            transaction.commit().await?;
            Ok(value)
        })
        .await
    }

    /// The state of both pools.
    #[must_use]
    pub fn stats(&self) -> Vec<PoolStats> {
        vec![PoolStats::of("readers", &self.readers), PoolStats::of("writer", &self.writer)]
    }

    /// Finishes running statements and closes every connection.
    pub async fn close(&self) {
        self.readers.close().await;
        // Last, so that it can checkpoint the WAL.
        self.writer.close().await;
    }
}
