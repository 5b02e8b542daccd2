//! Creates, locks and opens the file of a database.

use super::path::{folder, with_suffix};
use crate::error::OpenFailure;
use sqlx::{
    ConnectOptions as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};
use std::{
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::Duration,
};
use tokio::time::timeout;

/// The time between two log lines while another process holds the lock.
const LOCK_NOTICE_INTERVAL: Duration = Duration::from_secs(5);

/// Returns whether the file exists. The error says why a file cannot exist at this path, and is printed after
/// the name of a setting.
pub fn file_exists(file: &Path) -> Result<bool, String> {
    let path = file.display();
    match file.metadata() {
        Ok(found) if found.is_dir() => Err(format!("{path} is a folder; name a file in it")),
        Ok(found) if !found.is_file() => Err(format!("{path} is not a file")),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = folder(file);
            if folder.is_dir() {
                return Ok(false);
            }
            Err(format!(
                "{path} cannot be created: there is no folder {}",
                folder.display()
            ))
        }
        Err(error) => Err(format!("{path} cannot be opened: {error}")),
    }
}

/// Waits for the exclusive right to prepare the file, and returns the locked lock file. The right ends when the
/// lock file is dropped. While this function waits, it logs a warning at intervals.
///
/// The lock is needed because neither the switch to WAL nor sqlx's migrator is safe in two processes at once.
/// The system releases the lock when the process that holds it ends.
pub(super) async fn lock_exclusive(file: &Path) -> Result<File, OpenFailure> {
    let lock = private_file(&with_suffix(file, ".lock"))?;
    if cfg!(simulation) {
        // A simulation is one process, which waits for no other one and must not use a thread.
        return Ok(lock);
    }
    let mut waiting = tokio::task::spawn_blocking(move || {
        lock.lock()?;
        Ok(lock)
    });
    // The same wait continues throughout the loop, so that it keeps its place in the queue of the system.
    let locked = loop {
        match timeout(LOCK_NOTICE_INTERVAL, &mut waiting).await {
            Ok(locked) => break locked.map_err(io::Error::other).flatten(),
            Err(_elapsed) => tracing::warn!(
                store = %file.display(),
                "waiting for the database: another process is opening it and holds its lock file"
            ),
        }
    };
    locked.map_err(|error| OpenFailure::Failed(error.into()))
}

/// Opens a connection that only reads. If the file is missing, this fails and does not create it.
pub(crate) async fn connect_read_only(file: &Path) -> sqlx::Result<SqliteConnection> {
    SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .connect()
        .await
}

/// Opens a connection that moves the write-ahead log into the file.
pub(super) async fn connect_without_log(file: &Path) -> sqlx::Result<SqliteConnection> {
    SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Delete)
        .connect()
        .await
}

/// Opens a file that only this user may access (mode 0600), and creates it if it is missing. SQLite gives its
/// other files the mode of the database.
pub(super) fn private_file(path: &Path) -> Result<File, OpenFailure> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| explain(path, error))
}

/// Distinguishes an error that another path or other permissions would solve from a failure of the machine.
fn explain(path: &Path, error: io::Error) -> OpenFailure {
    match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::PermissionDenied
        | ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::InvalidFilename => {
            let path = path.display();
            OpenFailure::Setting(format!("{path} cannot be opened or created: {error}"))
        }
        _ => OpenFailure::Failed(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{explain, file_exists};
    use crate::error::OpenFailure;
    use std::{io, os::unix::fs::symlink, path::Path};

    #[test]
    fn only_a_file_or_a_free_name_in_a_folder_can_be_a_database() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("users.db");
        assert_eq!(file_exists(&file), Ok(false));
        std::fs::write(&file, "").expect("written");
        assert_eq!(file_exists(&file), Ok(true));
        let (cycle, link) = (folder.path().join("cycle"), folder.path().join("link"));
        symlink(&cycle, &cycle).expect("linked");
        symlink(&file, &link).expect("linked");
        assert_eq!(file_exists(&link), Ok(true));
        for (path, why) in [
            (folder.path(), "is a folder"),
            (Path::new("/dev/null"), "is not a file"),
            (
                &folder.path().join("nowhere/users.db"),
                "there is no folder",
            ),
            (&file.join("users.db"), "cannot be opened"),
            (&folder.path().join("x".repeat(300)), "cannot be opened"),
            (&cycle, "cannot be opened"),
        ] {
            let problem = file_exists(path).expect_err(why);
            assert!(problem.contains(why), "{problem}");
        }
    }

    #[test]
    fn missing_permission_is_an_invalid_setting_and_a_full_disk_is_not() {
        let explained = |kind: io::ErrorKind| explain(Path::new("/a/b.db"), kind.into());
        assert!(matches!(
            explained(io::ErrorKind::PermissionDenied),
            OpenFailure::Setting(_)
        ));
        assert!(matches!(
            explained(io::ErrorKind::ReadOnlyFilesystem),
            OpenFailure::Setting(_)
        ));
        assert!(matches!(
            explained(io::ErrorKind::StorageFull),
            OpenFailure::Failed(_)
        ));
    }
}
