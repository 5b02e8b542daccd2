//! Opening an SQLite file.
//!
//! One writer, readers apart: in WAL mode readers never wait for the writer and see every commit
//! that came before their statement. Writes must be read to their end (`fetch_all`, never
//! `fetch_optional`): only then the commit has happened, and its failure is seen. `synchronous=FULL`:
//! what was acknowledged survives a power cut.

mod file;

pub use file::file_exists;
pub(crate) use file::same_file;

use crate::{
    PoolStats, QueryFuture, STATEMENT_TIMEOUT, Schema, StoreError, Tables, open::OpenFailure,
    with_timeout,
};
use file::{lock_exclusive, private_file};
use sqlx::{
    ConnectOptions, Connection, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::path::Path;

/// Begins a transaction as the writer. One that began as a reader would fail at its first write if
/// anybody, in another process say, wrote in between.
const IMMEDIATE: &str = "BEGIN IMMEDIATE";

/// Connections that read; each has a thread of its own.
const READERS: u32 = 4;

const PERM: i32 = 3;
const READONLY: i32 = 8;
const CANTOPEN: i32 = 14;
const AUTH: i32 = 23;
const NOTADB: i32 = 26;

/// An open file. Several processes of one machine may share it.
#[derive(Clone, Debug)]
pub struct Pools {
    /// The one connection that writes.
    writer: SqlitePool,
    /// Those that read.
    pub readers: SqlitePool,
}

/// Opens the file, made if it is missing (0600), and brings the schema up to date. Eight processes
/// may do so at once: they take turns by a lock on a file beside it. What is not ours stays as it is.
pub(crate) async fn open(file: &Path, tables: &Tables) -> Result<Pools, OpenFailure> {
    let there = || file_exists(file).map_err(OpenFailure::Setting);
    there()?;
    let turn = lock_exclusive(file).await?;
    if there()? {
        let schema = look(file, tables).await.map_err(|error| explain(file, error))?;
        if let Schema::Unrecognized(why) = schema {
            return Err(OpenFailure::Unrecognized(why));
        }
    }
    private_file(file)?;
    let pools = pools(file, tables).await.map_err(|error| explain(file, error));
    drop(turn);
    pools
}

/// What the file holds. It must exist, and does not change.
async fn look(file: &Path, tables: &Tables) -> sqlx::Result<Schema> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection: SqliteConnection = options.connect().await?;
    let schema = Schema::in_sqlite(&mut connection, tables).await?;
    connection.close().await?;
    Ok(schema)
}

async fn pools(file: &Path, tables: &Tables) -> sqlx::Result<Pools> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(STATEMENT_TIMEOUT);
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(STATEMENT_TIMEOUT)
        .connect_with(options.clone())
        .await?;
    tables.sqlite().run(&writer).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(STATEMENT_TIMEOUT)
        .test_before_acquire(false)
        .connect_with(options.read_only(true))
        .await?;
    Ok(Pools { writer, readers })
}

/// What SQLite says about a file that it cannot open, or that is none of its own.
pub(crate) fn explain(file: &Path, error: sqlx::Error) -> OpenFailure {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    let file = file.display();
    // Result codes of SQLite; the low byte is the primary one.
    match code.map(|code| code & 0xff) {
        Some(NOTADB) => OpenFailure::Setting(format!("{file} is not an SQLite database")),
        Some(PERM | READONLY | CANTOPEN | AUTH) => {
            OpenFailure::Setting(format!("{file} cannot be opened to read and write: {error}"))
        }
        _ => OpenFailure::Failed(error),
    }
}

impl Pools {
    /// Runs statements as one transaction, within [`STATEMENT_TIMEOUT`]. Whoever is told that there was
    /// no time, or does not wait, leaves nothing behind: a lone statement would still be carried out
    /// when it is its turn.
    pub async fn write<T: Send>(
        &self,
        statements: impl for<'c> FnOnce(&'c mut SqliteConnection) -> QueryFuture<'c, T> + Send,
    ) -> Result<T, StoreError> {
        with_timeout(async {
            let mut transaction = self.writer.begin_with(IMMEDIATE).await?;
            let answer = statements(&mut transaction).await?;
            transaction.commit().await?;
            Ok(answer)
        })
        .await
    }

    /// How the connections are used now.
    #[must_use]
    pub fn stats(&self) -> Vec<PoolStats> {
        vec![PoolStats::of("readers", &self.readers), PoolStats::of("writer", &self.writer)]
    }

    /// Finishes what is under way and closes every connection.
    pub async fn close(&self) {
        self.readers.close().await;
        // Last, so that it can fold the log back into the file.
        self.writer.close().await;
    }
}
