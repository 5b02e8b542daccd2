//! Replaces a database file with a copy, for a restore. No program may use the file meanwhile. If the
//! replacement fails, the file keeps its content.

use super::{
    copy::{DatabaseCopy, at},
    file::{connect_read_only, connect_without_log, lock_exclusive, private_file},
    path::with_suffix,
};
use crate::{
    clock,
    sql_error::{BUSY, LOCKED, sqlite_code},
};
use rolegate_program::failure::Failure;
use rustix::fs::{FlockOperation, fcntl_lock};
use sqlx::Connection;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

fn in_use(file: &Path) -> Failure {
    let file = file.display();
    format!("{file} is in use; stop the program that uses it").into()
}

/// The right to replace a database, which need not exist.
///
/// No program used the database when the right was acquired. No program of Rolegate can open it until the right
/// is dropped.
#[derive(Debug)]
pub struct Replacement {
    /// The resolved path: if the path is a link, the link stays and its target is replaced.
    file: PathBuf,
    _lock: File,
}

impl Replacement {
    /// Acquires the right to replace `file`. It waits while a program opens the file, and fails if a program
    /// uses it. It also moves the write-ahead log into the file, so that the file is complete without it.
    pub async fn begin(file: &Path) -> Result<Self, Failure> {
        let lock = lock_exclusive(file)
            .await
            .map_err(|failure| failure.to_string())?;
        if file.try_exists().map_err(at(file))? {
            let opened = private_file(file).map_err(|failure| failure.to_string())?;
            // This lock conflicts with the lock that every connection of SQLite holds, whatever the file
            // contains.
            fcntl_lock(&opened, FlockOperation::NonBlockingLockExclusive)
                .map_err(|_held| in_use(file))?;
            drop(opened);
            fold_log(file).await?;
        }
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        Ok(Self { file, _lock: lock })
    }

    /// Copies `source` into a temporary folder beside the file, and checks the copy. [`Self::finish`] then puts
    /// it in place of the file.
    pub async fn prepare(&self, source: &Path) -> Result<DatabaseCopy, Failure> {
        DatabaseCopy::create(source, &self.file).await
    }

    /// Reads a time in Unix milliseconds that the clock of the file has not passed; `None` if the file has no
    /// clock or cannot be read.
    pub async fn read_clock(&self) -> Option<i64> {
        let mut old = connect_read_only(&self.file).await.ok()?;
        let latest = clock::read_latest(&mut old).await;
        let _ = old.close().await;
        latest.ok().flatten()
    }

    /// Reads a number from the file with this SQL, such as the last id that was assigned. Returns 0 if there is
    /// none, or if the file cannot be read.
    pub async fn read_number(&self, sql: &'static str) -> i64 {
        let Ok(mut old) = connect_read_only(&self.file).await else {
            return 0;
        };
        let number = sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut old).await;
        let _ = old.close().await;
        number.unwrap_or_default()
    }

    /// Replaces the file with the copy in one step, or creates the file. After a crash, the path leads to
    /// either the old or the new file.
    pub async fn finish(self, copy: DatabaseCopy) -> Result<(), Failure> {
        let file = &self.file;
        copy.fold_log().await.map_err(at(file))?;
        // The log of the old database must not stay, because SQLite would apply it to the new one.
        for suffix in ["-wal", "-shm", "-journal"] {
            let path = with_suffix(file, suffix);
            if let Err(error) = fs::remove_file(&path)
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(at(&path)(error));
            }
        }
        copy.persist(file)
    }
}

/// Moves the write-ahead log into the file. If the file is damaged, logs a warning and leaves it unchanged.
async fn fold_log(file: &Path) -> Result<(), Failure> {
    match connect_without_log(file).await {
        Ok(connection) => connection.close().await.map_err(at(file)),
        Err(error) if matches!(sqlite_code(&error), Some(BUSY | LOCKED)) => Err(in_use(file)),
        Err(error) => {
            tracing::warn!(%error, "replacing {}, which is damaged", file.display());
            Ok(())
        }
    }
}
