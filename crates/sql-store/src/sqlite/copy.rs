//! Copies SQLite files, even while programs write to them.
//!
//! A copy is made and checked in a temporary folder beside its destination, and then moved there in one step.

use super::{
    file::{connect_read_only, connect_without_log},
    path::{folder, with_suffix},
};
use crate::DatabaseUrl;
use rolegate_program::failure::Failure;
use sqlx::{Connection, SqliteConnection};
use std::{
    fmt::Display,
    fs::{self, DirEntry, File, Permissions, TryLockError},
    io,
    os::unix::fs::PermissionsExt,
    path::Path,
};
use tempfile::{Builder, NamedTempFile, TempDir};

// The prefix and the suffix of the names of folders that contain unfinished copies.
const FOLDER_PREFIX: &str = ".rolegate-copy-";
const FOLDER_SUFFIX: &str = ".partial";

/// Returns a function that turns an error of SQLite or the file system into a failure that names the file.
pub(super) fn at<E: Display>(file: &Path) -> impl Fn(E) -> Failure {
    move |error| format!("{}: {error}", file.display()).into()
}

fn damaged(file: &Path, problem: &str) -> Failure {
    format!("{} is damaged: {problem}", file.display()).into()
}

/// A checked copy of a database, with mode 0600, in a temporary folder.
///
/// The copy is removed when this value is dropped. If the process is killed before that, the next copy into the
/// same folder removes it.
#[derive(Debug)]
pub struct DatabaseCopy {
    file: NamedTempFile,
    _folder: LockedFolder,
}

impl DatabaseCopy {
    /// Copies the current state of `source` into a temporary folder beside `destination`, and checks both.
    /// Programs may write to `source` meanwhile.
    pub async fn create(source: &Path, destination: &Path) -> Result<Self, Failure> {
        let beside = folder(destination);
        remove_abandoned(beside).map_err(at(destination))?;
        let locked = LockedFolder::create(beside).map_err(at(destination))?;
        let copy = NamedTempFile::new_in(&locked.folder).map_err(at(destination))?;
        let path = copy.path().to_str().ok_or_else(|| {
            let error = io::Error::from(io::ErrorKind::InvalidFilename);
            at(destination)(error)
        })?;
        vacuum_into(source, path).await?;
        // The integrity check accepts an empty file, so the size is checked separately.
        if copy.as_file().metadata().map_err(at(destination))?.len() == 0 {
            return Err(damaged(destination, "nothing was copied"));
        }
        let mut connection = connect_read_only(copy.path()).await.map_err(at(source))?;
        check_integrity(&mut connection, destination).await?;
        connection.close().await.map_err(at(source))?;
        copy.as_file().sync_all().map_err(at(destination))?;
        Ok(Self {
            file: copy,
            _folder: locked,
        })
    }

    /// Returns the URL of the copy, which can be opened before it is moved. `setting` is the name of the
    /// setting that errors about the copy mention.
    pub fn url(&self, setting: &'static str) -> DatabaseUrl {
        DatabaseUrl::from_file(setting, self.file.path().to_owned())
    }

    /// Moves the write-ahead log of the copy into the copy, and fails if that is not possible.
    ///
    /// This is needed if the copy was changed after it was made, because only its main file is moved to the
    /// destination, without the log.
    pub(super) async fn fold_log(&self) -> sqlx::Result<()> {
        let connection = connect_without_log(self.file.path()).await?;
        connection.close().await?;
        if with_suffix(self.file.path(), "-wal").exists() {
            return Err(io::Error::other("the log of the copy cannot be moved into it").into());
        }
        Ok(())
    }

    /// Moves the copy to `destination`. If a file of that name exists, it stays, and the move fails.
    pub fn persist_new(self, destination: &Path) -> Result<(), Failure> {
        self.file
            .persist_noclobber(destination)
            .map_err(|error| at(destination)(error.error))?;
        sync_folder(destination).map_err(at(destination))
    }

    /// Moves the copy to `destination`, and replaces a file of that name if there is one.
    pub(super) fn persist(self, destination: &Path) -> Result<(), Failure> {
        self.file.as_file().sync_all().map_err(at(destination))?;
        self.file
            .persist(destination)
            .map_err(|error| at(destination)(error.error))?;
        sync_folder(destination).map_err(at(destination))
    }
}

/// Checks the integrity of a database, and copies it into an empty file. Each step is a read transaction, which
/// neither waits for writers nor delays them.
async fn vacuum_into(source: &Path, copy: &str) -> Result<(), Failure> {
    let mut connection = connect_read_only(source).await.map_err(at(source))?;
    check_integrity(&mut connection, source).await?;
    sqlx::query("VACUUM INTO $1")
        .bind(copy)
        .execute(&mut connection)
        .await
        .map_err(at(source))?;
    connection.close().await.map_err(at(source))
}

async fn check_integrity(connection: &mut SqliteConnection, file: &Path) -> Result<(), Failure> {
    let check = sqlx::query_scalar::<_, String>("PRAGMA integrity_check(1)");
    let problem = match check.fetch_one(connection).await {
        Ok(found) if found == "ok" => return Ok(()),
        Ok(found) => found.replace('\n', " "),
        Err(error) => error.to_string(),
    };
    Err(damaged(file, &problem))
}

/// Makes the name of a file durable. The name is stored in the folder and not in the file, so the folder is
/// synced.
fn sync_folder(file: &Path) -> io::Result<()> {
    File::open(folder(file))?.sync_all()
}

/// A folder for one copy. The folder is locked while this value exists. The copy itself is not locked, because
/// on network file systems such a lock would conflict with the locks of SQLite.
#[derive(Debug)]
struct LockedFolder {
    folder: TempDir,
    _lock: File,
}

impl LockedFolder {
    fn create(parent: &Path) -> io::Result<Self> {
        let mut names = Builder::new();
        names
            .prefix(FOLDER_PREFIX)
            .suffix(FOLDER_SUFFIX)
            .permissions(Permissions::from_mode(0o700));
        loop {
            let folder = names.tempdir_in(parent)?;
            let lock = match File::open(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // If the folder is locked or gone, another process took it for abandoned before this one locked it,
            // so another folder is tried.
            if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && folder.path().exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
    }
}

/// Removes the folders that copies left when their processes were killed. On file systems without locks, it
/// removes none.
fn remove_abandoned(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)?.flatten() {
        if is_copy_folder(&entry)
            && let Ok(folder) = File::open(entry.path())
            && folder.try_lock().is_ok()
        {
            // The removal may fail, for example because only the owner of the folder is allowed to remove it.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

fn is_copy_folder(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.as_encoded_bytes();
    entry.file_type().is_ok_and(|kind| kind.is_dir())
        && name.starts_with(FOLDER_PREFIX.as_bytes())
        && name.ends_with(FOLDER_SUFFIX.as_bytes())
}

#[cfg(test)]
mod tests;
