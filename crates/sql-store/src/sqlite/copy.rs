//! Copies SQLite files, and puts copies into the places of files that no program uses. After an error the
//! file that was to be replaced has the content that it had.

use super::{
    clock,
    file::{connect_read_only, folder, lock_exclusive, private_file, with_suffix},
};
use crate::{
    DatabaseUrl,
    sql_error::{BUSY, LOCKED, sqlite_code},
};
use rolegate_program::program::Failure;
use rustix::fs::{FlockOperation, fcntl_lock};
use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};
use std::{
    fmt::Display,
    fs::{self, File, Permissions, TryLockError},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::{Builder, NamedTempFile, TempDir};

/// The names of the folders of unfinished copies.
const PARTIAL: (&str, &str) = (".rolegate-copy-", ".partial");

/// An error of SQLite or the file system, with the file.
fn at<E: Display>(file: &Path) -> impl Fn(E) -> Failure {
    move |error| format!("{}: {error}", file.display()).into()
}

fn damaged(file: &Path, problem: &str) -> Failure {
    format!("{} is damaged: {problem}", file.display()).into()
}

fn in_use(file: &Path) -> Failure {
    format!(
        "{} is in use; stop the program that uses it",
        file.display()
    )
    .into()
}

/// A copy of a database, checked, with mode 0600, in a temporary folder. Removed when dropped, or by the
/// next copy beside it.
#[derive(Debug)]
pub struct DatabaseCopy {
    file: NamedTempFile,
    _folder: LockedFolder,
}

impl DatabaseCopy {
    /// Copies `source` as it is now, also while programs write to it, into the folder of `destination`.
    pub async fn create(source: &Path, destination: &Path) -> Result<Self, Failure> {
        let beside = folder(destination);
        let folder = remove_abandoned(beside).and_then(|()| LockedFolder::create(beside));
        let folder = folder.map_err(at(destination))?;
        let copy = NamedTempFile::new_in(&folder.folder).map_err(at(destination))?;
        let failed = at(source);
        let mut connection = connect_read_only(source).await.map_err(&failed)?;
        check_integrity(&mut connection, source).await?;
        // One read transaction: neither waits for writers nor delays them. Into an empty file only.
        let path = copy
            .path()
            .to_str()
            .ok_or(io::Error::from(io::ErrorKind::InvalidFilename));
        let path = path.map_err(at(destination))?;
        let copied = sqlx::query("VACUUM INTO $1")
            .bind(path)
            .execute(&mut connection)
            .await;
        copied.map_err(&failed)?;
        connection.close().await.map_err(&failed)?;
        // An empty file has its integrity too.
        if copy.as_file().metadata().map_err(at(destination))?.len() == 0 {
            return Err(damaged(destination, "nothing was copied"));
        }
        let mut connection = connect_read_only(copy.path()).await.map_err(&failed)?;
        check_integrity(&mut connection, destination).await?;
        connection.close().await.map_err(&failed)?;
        copy.as_file().sync_all().map_err(at(destination))?;
        Ok(Self {
            file: copy,
            _folder: folder,
        })
    }

    /// The copy as a database to open, before it is moved. `setting` names the file that was copied.
    pub fn url(&self, setting: &'static str) -> DatabaseUrl {
        DatabaseUrl::from_file(setting, self.file.path().to_owned())
    }

    /// Moves the log of a copy that was changed since into the copy, which alone takes the place of a file. Fails if that
    /// is not possible.
    async fn fold_log(&self) -> sqlx::Result<()> {
        let options = SqliteConnectOptions::new()
            .filename(self.file.path())
            .journal_mode(SqliteJournalMode::Delete);
        options.connect().await?.close().await?;
        if with_suffix(self.file.path(), "-wal").exists() {
            return Err(io::Error::other("the log of the copy cannot be moved into it").into());
        }
        Ok(())
    }

    /// Moves it to `destination`, beside its folder. A file of that name stays, as an error.
    pub fn persist_new(self, destination: &Path) -> Result<(), Failure> {
        let named = self
            .file
            .persist_noclobber(destination)
            .map_err(|error| error.error);
        let synced = named.and_then(|_| sync_folder(destination));
        synced.map_err(at(destination))
    }
}

/// The right to replace a database, which need not exist: no program used it at first, and none of ours
/// opens it until this is dropped.
#[derive(Debug)]
pub struct Replacement {
    /// Not a link: that stays.
    file: PathBuf,
    _lock: File,
}

impl Replacement {
    /// Fails if a program uses `file`. Waits while one opens it. Moves its log into it, so that it is
    /// whole without.
    pub async fn begin(file: &Path) -> Result<Self, Failure> {
        let lock = lock_exclusive(file)
            .await
            .map_err(|failure| failure.to_string())?;
        if file.try_exists().map_err(at(file))? {
            let opened = private_file(file).map_err(|failure| failure.to_string())?;
            // Every connection of SQLite has a lock that this one conflicts with, whatever the file
            // contains.
            fcntl_lock(&opened, FlockOperation::NonBlockingLockExclusive)
                .map_err(|_held| in_use(file))?;
            drop(opened);
            fold_log(file).await?;
        }
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        Ok(Self { file, _lock: lock })
    }

    /// Copies `source` into the folder of the file.
    pub async fn prepare(&self, source: &Path) -> Result<DatabaseCopy, Failure> {
        DatabaseCopy::create(source, &self.file).await
    }

    /// A time in Unix milliseconds that the clock of the file has not passed; `None` if it has no clock, or cannot be read.
    pub async fn read_clock(&self) -> Option<i64> {
        let mut old = connect_read_only(&self.file).await.ok()?;
        let latest = clock::latest(&mut old).await;
        let _ = old.close().await;
        latest.ok().flatten()
    }

    /// A number in the file, such as the last id that it has given out; 0 for none, or if the file cannot be read.
    pub async fn read_number(&self, sql: &'static str) -> i64 {
        let Ok(mut old) = connect_read_only(&self.file).await else {
            return 0;
        };
        let number = sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut old).await;
        let _ = old.close().await;
        number.unwrap_or_default()
    }

    /// Replaces the file, or creates it, in one step: after a crash it is the old one or the new one.
    pub async fn finish(self, copy: DatabaseCopy) -> Result<(), Failure> {
        let file = &self.file;
        copy.fold_log().await.map_err(at(file))?;
        // The log of another database would be applied to the new one.
        for suffix in ["-wal", "-shm", "-journal"] {
            let path = with_suffix(file, suffix);
            if let Err(error) = fs::remove_file(&path)
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(at(&path)(error));
            }
        }
        copy.file.as_file().sync_all().map_err(at(file))?;
        copy.file
            .persist(file)
            .map_err(|error| at(file)(error.error))?;
        sync_folder(file).map_err(at(file))
    }
}

/// Moves the write-ahead log into the file. A damaged file stays as it is.
async fn fold_log(file: &Path) -> Result<(), Failure> {
    let options = SqliteConnectOptions::new().filename(file);
    match options
        .journal_mode(SqliteJournalMode::Delete)
        .connect()
        .await
    {
        Ok(connection) => connection.close().await.map_err(at(file)),
        Err(error) if matches!(sqlite_code(&error), Some(BUSY | LOCKED)) => Err(in_use(file)),
        Err(error) => {
            tracing::warn!(%error, "replacing {}, which is damaged", file.display());
            Ok(())
        }
    }
}

async fn check_integrity(connection: &mut SqliteConnection, file: &Path) -> Result<(), Failure> {
    let checked = sqlx::query_scalar::<_, String>("PRAGMA integrity_check(1)");
    let found = checked.fetch_one(connection).await;
    let problem = match found {
        Ok(found) if found == "ok" => return Ok(()),
        Ok(found) => found.replace('\n', " "),
        Err(error) => error.to_string(),
    };
    Err(damaged(file, &problem))
}

/// A folder for one copy, locked while it is in use. A lock of the copy itself would, on network file
/// systems, conflict with those of SQLite.
#[derive(Debug)]
struct LockedFolder {
    folder: TempDir,
    _lock: File,
}

impl LockedFolder {
    fn create(parent: &Path) -> io::Result<Self> {
        let mut names = Builder::new();
        names
            .prefix(PARTIAL.0)
            .suffix(PARTIAL.1)
            .permissions(Permissions::from_mode(0o700));
        loop {
            let folder = names.tempdir_in(parent)?;
            let lock = match File::open(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // Otherwise another process took it for abandoned before it was locked.
            if !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) && folder.path().exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
    }
}

/// Removes the folders of killed copies. Where there are no locks, none is removed.
fn remove_abandoned(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder
            && name.starts_with(PARTIAL.0)
            && name.ends_with(PARTIAL.1)
            && let Ok(folder) = File::open(entry.path())
            && folder.try_lock().is_ok()
        {
            // Only its owner may be able to.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// A name is stored with its folder.
fn sync_folder(file: &Path) -> io::Result<()> {
    File::open(folder(file))?.sync_all()
}

#[cfg(test)]
mod tests;
