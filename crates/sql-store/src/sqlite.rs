//! Opens SQLite files, and sets up their connections.
//!
//! `file.rs` creates and locks the file, and `pools.rs` runs transactions and reads. `open_files.rs` notices
//! when the file is deleted or replaced. `copy.rs` copies a file for a backup, and `replacement.rs` puts a copy in
//! the place of a file for a restore.
//!
//! One connection writes and the others read: in WAL mode, readers never wait for the writer and see every
//! earlier commit. Statements that write must be read to their end (`fetch_all`, never `fetch_optional`),
//! because SQLite commits a statement, and reports a failed commit, only after its last row. With
//! `synchronous=FULL`, an acknowledged write survives a power failure.

mod copy;
mod file;
mod open_files;
mod path;
mod pools;
mod replacement;

pub use copy::DatabaseCopy;
pub use file::file_exists;
pub use path::with_suffix;
pub use pools::Pools;
pub use replacement::Replacement;

pub(crate) use file::connect_read_only;
pub(crate) use path::{folder, same_file};
pub(crate) use pools::IMMEDIATE;

#[cfg(simulation)]
use crate::simulated::connect;
use crate::{
    FileClock, STATEMENT_TIMEOUT, Schema, Tables, dialect::Dialect, error::OpenFailure,
    schema::SchemaSharing, statement, write::WriteHealth,
};
use file::{lock_exclusive, private_file};
use open_files::OpenFiles;
use sqlx::{
    Connection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{path::Path, sync::Arc};

/// The maximum number of connections that read. Each has a thread of its own.
const MAX_READERS: u32 = 4;

/// The size in bytes to which the write-ahead log shrinks when SQLite restarts it. While a long read prevents a
/// restart, the log grows.
const MAX_IDLE_LOG_BYTES: &str = "16777216";

/// Opens the file, creates it if it is missing, migrates its schema, and starts its clock as `clock` says.
///
/// Processes that open the file at the same time take turns. A file with an unrecognized schema is not changed.
pub(crate) async fn open(
    file: &Path,
    tables: &Tables,
    clock: FileClock,
) -> Result<Pools, OpenFailure> {
    let exists = || file_exists(file).map_err(OpenFailure::Setting);
    exists()?;
    let lock = lock_exclusive(file).await?;
    if exists()? {
        require_recognized(file, tables).await?;
    }
    private_file(file)?;
    let pools = open_pools(file, tables, Storage::File).await?;
    drop(lock);
    pools.start_clock(clock).await?;
    Ok(pools)
}

/// Fails if the schema of the file is damaged or belongs to another program. A missing or older schema is
/// accepted, because it is migrated next.
async fn require_recognized(file: &Path, tables: &Tables) -> Result<(), OpenFailure> {
    let mut connection = connect_read_only(file).await?;
    let opened = &mut statement::Connection::Sqlite(&mut connection);
    Schema::read(opened, tables, SchemaSharing::Refused).await?;
    connection.close().await?;
    Ok(())
}

/// Opens a database in memory by its name, creates its schema, and starts its clock.
pub(crate) async fn open_in_memory(name: &Path, tables: &Tables) -> Result<Pools, OpenFailure> {
    let pools = open_pools(name, tables, Storage::Memory).await?;
    pools.start_clock(FileClock::Advance).await?;
    Ok(pools)
}

/// The place where SQLite keeps a database.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    File,
    Memory,
}

async fn open_pools(file: &Path, tables: &Tables, storage: Storage) -> sqlx::Result<Pools> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("journal_size_limit", MAX_IDLE_LOG_BYTES)
        .busy_timeout(STATEMENT_TIMEOUT);
    let files = Arc::new(OpenFiles::default());
    let writer = pool_options(&files)
        .max_connections(1)
        .after_release(|writer, _| {
            Box::pin(async move {
                // After a failed commit, SQLite has rolled back, but sqlx still counts a transaction, in which
                // every later BEGIN would fail. Such a connection is closed.
                writer.ping().await?;
                Ok(!writer.is_in_transaction())
            })
        });
    let writer = connect(writer, options.clone()).await?;
    let mut connection = writer.acquire().await?;
    tables
        .migrator(Dialect::Sqlite)
        .run(&mut *connection)
        .await?;
    drop(connection);
    if storage == Storage::File {
        files.remember(file)?;
    }
    let readers = pool_options(&files)
        .max_connections(MAX_READERS)
        .test_before_acquire(false);
    let readers = connect(readers, options.read_only(true)).await?;
    let health = WriteHealth::new(format!("SQLite in {}", file.display()), "the disk may hang");
    Ok(Pools {
        writer,
        readers,
        files,
        clock: Arc::default(),
        health,
    })
}

#[cfg(not(simulation))]
async fn connect(
    pool: SqlitePoolOptions,
    options: SqliteConnectOptions,
) -> sqlx::Result<sqlx::SqlitePool> {
    pool.connect_with(options).await
}

/// Returns the options that the pool of the writer and the pool of the readers share.
fn pool_options(files: &Arc<OpenFiles>) -> SqlitePoolOptions {
    let files = Arc::clone(files);
    SqlitePoolOptions::new()
        .acquire_timeout(STATEMENT_TIMEOUT)
        // Idle connections stay open, because closing the last one would delete the log.
        .idle_timeout(None)
        .max_lifetime(None)
        .after_connect(move |_, _| {
            let checked = files.ensure_not_replaced();
            Box::pin(async { checked })
        })
}
