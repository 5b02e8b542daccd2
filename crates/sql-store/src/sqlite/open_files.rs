//! Notices when the files of an open database are deleted or replaced.

use super::path::{FileId, with_suffix};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

const RESTORE: &str = "put it back, or stop this program, restore a backup and start again";
const RESTART: &str = "stop this program, which moves the log into the database, and start again";

/// The files of an open database, and whether they are still at the paths where they were opened.
///
/// SQLite continues to use files that were deleted or replaced, and what it writes there is lost. While a
/// connection is open, the system does not reuse the inodes of its files, so an inode identifies a file.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    /// The database, its log and the index of the log.
    files: OnceLock<[OpenFile; 3]>,
    /// True if the last check found that a file was deleted or replaced.
    pub(super) is_lost: AtomicBool,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    id: FileId,
    /// The advice for the operator if the file is lost.
    advice: &'static str,
}

impl OpenFiles {
    /// Records the database, its log and its index, so that later checks recognize them. It must be called
    /// while a connection is open, because otherwise the log and the index do not exist.
    pub(super) fn remember(&self, database: &Path) -> io::Result<()> {
        let target = database.canonicalize()?;
        let _ = self.files.set([
            OpenFile::find(database.to_owned(), RESTORE)?,
            OpenFile::find(with_suffix(&target, "-wal"), RESTART)?,
            OpenFile::find(with_suffix(&target, "-shm"), RESTART)?,
        ]);
        Ok(())
    }

    /// Fails if one of the files is no longer at its path, and remembers the outcome in `is_lost`.
    pub(crate) fn ensure_not_replaced(&self) -> sqlx::Result<()> {
        let Some(files) = self.files.get() else {
            return Ok(());
        };
        let lost = files.iter().find(|file| file.is_lost());
        self.is_lost.store(lost.is_some(), Relaxed);
        let Some(OpenFile { path, advice, .. }) = lost else {
            return Ok(());
        };
        let path = path.display();
        let problem = format!("{path} was deleted or replaced while it was open; {advice}");
        Err(io::Error::other(problem).into())
    }

    /// Returns whether the file of the database itself is no longer at its path.
    pub(super) fn is_database_lost(&self) -> bool {
        self.files
            .get()
            .is_some_and(|[database, ..]| database.is_lost())
    }
}

impl OpenFile {
    fn find(path: PathBuf, advice: &'static str) -> io::Result<Self> {
        let id = FileId::find(&path)?;
        Ok(Self { path, id, advice })
    }

    fn is_lost(&self) -> bool {
        !matches!(FileId::find(&self.path), Ok(id) if id == self.id)
    }
}
