//! Opening an SQLite file.
//!
//! One writer, readers apart: in WAL mode readers never wait for the writer and see every commit
//! that came before their statement. Writes must be read to their end (`fetch_all`, never
//! `fetch_optional`): only then the commit has happened, and its failure is seen. `synchronous=FULL`:
//! what was acknowledged survives a power cut.

use crate::{PoolUse, STATEMENT_TIME};
use sqlx::{
    SqlitePool,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Connections that read; each has a thread of its own.
const READERS: u32 = 4;

/// An open file. Several processes of one machine may share it.
#[derive(Clone, Debug)]
pub struct Pools {
    /// The one connection that writes.
    pub writer: SqlitePool,
    /// Those that read.
    pub readers: SqlitePool,
}

impl Pools {
    /// Opens the file, made if it is missing (0600), and brings the schema up to date. Eight
    /// processes may do so at once: they take turns by a lock on a file beside it.
    pub async fn open(file: &Path, migrator: &Migrator) -> sqlx::Result<Self> {
        let turn = take_turn(file).await?;
        private_file(file)?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(STATEMENT_TIME);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(STATEMENT_TIME)
            .connect_with(options.clone())
            .await?;
        migrator.run(&writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(STATEMENT_TIME)
            .test_before_acquire(false)
            .connect_with(options.read_only(true))
            .await?;
        drop(turn);
        Ok(Self { writer, readers })
    }

    /// How the connections are used now.
    #[must_use]
    pub fn uses(&self) -> Vec<PoolUse> {
        vec![PoolUse::of("readers", &self.readers), PoolUse::of("writer", &self.writer)]
    }

    /// Finishes what is under way and closes every connection.
    pub async fn close(&self) {
        self.readers.close().await;
        // Last, so that it can fold the log back into the file.
        self.writer.close().await;
    }
}

/// Waits for the right to prepare the file: neither the switch to WAL nor sqlx's migrator is safe
/// in company. The system lets the lock go with its holder, however that ends.
async fn take_turn(file: &Path) -> io::Result<File> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".lock");
    let waiting = tokio::task::spawn_blocking(move || {
        let lock = private_file(Path::new(&beside))?;
        lock.lock()?;
        Ok(lock)
    });
    waiting.await.map_err(io::Error::other)?
}

/// Opens a file that only this user may read, made if it is missing. SQLite gives the files that it
/// puts beside the database the same mode.
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}
