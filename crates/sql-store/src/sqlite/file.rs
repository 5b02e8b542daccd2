//! The files of a database: that at its path, its log and its index, and the lock file beside them.

use crate::error::OpenFailure;
use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::timeout;

/// Between two log lines while another process holds the lock.
const LOCK_NOTICE_INTERVAL: Duration = Duration::from_secs(5);

/// The symbolic links that Linux follows in one path.
const MAX_LINKS: usize = 40;

const RESTORE: &str = "put it back, or stop this program, restore a backup and start again";
const RESTART: &str = "stop this program, which moves the log into the database, and start again";

/// Whether the file exists. The error says why there can be none, to follow the name of a setting.
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

pub(super) fn folder(file: &Path) -> &Path {
    file.parent()
        .filter(|path| !path.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

pub(super) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Waits for the exclusive right to prepare the file: neither the switch to WAL nor sqlx's migrator
/// is safe in two processes at once. The system releases the lock with its holder.
pub(super) async fn lock_exclusive(file: &Path) -> Result<File, OpenFailure> {
    let lock = private_file(&with_suffix(file, ".lock"))?;
    let mut waiting = tokio::task::spawn_blocking(move || {
        lock.lock()?;
        Ok(lock)
    });
    // One wait throughout, because it keeps its place in the queue of the system.
    let locked = loop {
        match timeout(LOCK_NOTICE_INTERVAL, &mut waiting).await {
            Ok(locked) => break locked.map_err(io::Error::other).flatten(),
            Err(_elapsed) => tracing::warn!(
                store = %file.display(),
                "waiting for the database: another process opens it, and holds its lock file"
            ),
        }
    };
    locked.map_err(|error| OpenFailure::Failed(error.into()))
}

/// Opens one connection, which does not create the file.
pub(crate) async fn connect_read_only(file: &Path) -> sqlx::Result<SqliteConnection> {
    SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .connect()
        .await
}

/// Opens a file that only this user may read (0600), created if it is missing. SQLite gives its
/// other files the mode of the database.
pub(super) fn private_file(path: &Path) -> Result<File, OpenFailure> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    options.open(path).map_err(|error| explain(path, error))
}

/// Tells an error that another path or other permissions would solve from one of the machine.
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

/// Whether two paths lead to the same file, also through links and through links to folders.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    match (inode(one), inode(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => resolve(one, MAX_LINKS) == resolve(other, MAX_LINKS),
        _ => false,
    }
}

/// The device and the inode that a path leads to.
fn inode(path: &Path) -> io::Result<(u64, u64)> {
    path.metadata().map(|found| (found.dev(), found.ino()))
}

/// The canonical form of a path of which only the first part need exist. A dangling link resolves to
/// the file that opening it would create.
fn resolve(path: &Path, links: usize) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    // The working directory may have been removed.
    if path.parent().is_none() || path == Path::new(".") {
        return path.to_owned();
    }
    let mut folder = resolve(folder(path), links);
    let Some(name) = path.file_name() else {
        // The path ends in `..`.
        folder.pop();
        return folder;
    };
    let file = folder.join(name);
    match file.read_link() {
        Ok(target) if links > 0 => resolve(&folder.join(target), links - 1),
        _ => file,
    }
}

/// Path, device and inode, and what to do without the file.
type OpenFile = (PathBuf, (u64, u64), &'static str);

/// The database, its log and its index, and whether they are still where they were opened: SQLite goes on
/// in files that were deleted or replaced, and what it writes there is lost. Open connections keep their
/// inodes from being used again.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    files: OnceLock<[OpenFile; 3]>,
    is_lost: AtomicBool,
}

impl OpenFiles {
    /// Remembers the files. Log and index exist while a connection is open.
    pub(super) fn remember(&self, database: &Path) -> io::Result<()> {
        let target = database.canonicalize()?;
        let file = |path: &Path, suffix: &str, advice| {
            let path = with_suffix(path, suffix);
            inode(&path).map(|inode| (path, inode, advice))
        };
        let (log, index) = (
            file(&target, "-wal", RESTART)?,
            file(&target, "-shm", RESTART)?,
        );
        let _ = self.files.set([file(database, "", RESTORE)?, log, index]);
        Ok(())
    }

    /// Fails while a file is not at its path.
    pub(crate) fn check(&self) -> sqlx::Result<()> {
        let lost = self
            .files
            .get()
            .into_iter()
            .flatten()
            .find(|file| is_lost(file));
        self.is_lost.store(lost.is_some(), Relaxed);
        let Some((path, _, advice)) = lost else {
            return Ok(());
        };
        let path = path.display();
        let problem = format!("{path} was deleted or replaced while it was open; {advice}");
        Err(io::Error::other(problem).into())
    }

    /// Fails if the last check did. Without a system call, for reads.
    pub(super) fn last_check(&self) -> sqlx::Result<()> {
        if self.is_lost.load(Relaxed) {
            self.check()
        } else {
            Ok(())
        }
    }

    /// Whether the database itself is not at its path.
    pub(super) fn is_database_lost(&self) -> bool {
        self.files
            .get()
            .is_some_and(|[database, ..]| is_lost(database))
    }
}

fn is_lost((path, opened, _): &OpenFile) -> bool {
    inode(path).ok() != Some(*opened)
}

#[cfg(test)]
mod tests {
    use super::{explain, file_exists, same_file};
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

    #[test]
    fn every_path_to_a_file_is_the_same_file_before_and_after_its_creation() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("a")).expect("created");
        symlink("a", at("link-to-a")).expect("linked");
        symlink("a/users.db", at("link")).expect("linked");
        symlink("link", at("link-to-link")).expect("linked");
        let names = [
            "a/users.db",
            "./a/../a//users.db",
            "link-to-a/users.db",
            "link",
            "link-to-link",
        ];
        for exists in [false, true] {
            for name in names {
                assert!(
                    same_file(&at("a/users.db"), &at(name)),
                    "{name}, exists: {exists}"
                );
                assert!(
                    !same_file(&at("a/posts.db"), &at(name)),
                    "{name}, exists: {exists}"
                );
            }
            std::fs::write(at("a/users.db"), "").expect("written");
        }
        std::fs::hard_link(at("a/users.db"), at("hard")).expect("linked");
        assert!(same_file(&at("a/users.db"), &at("hard")));
        assert!(same_file(
            &at("not/made/x.db"),
            &at("a/../not/./made/../made/x.db")
        ));
        assert!(!same_file(&at("not/made/x.db"), &at("not/x.db")));
    }
}
