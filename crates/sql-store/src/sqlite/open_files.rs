//! Whether the files of an open database are still where they were opened.
//!
//! SQLite goes on in files that were deleted or replaced, and what it writes there is lost.

use crate::same_file::inode;
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

/// Path, device and inode, and what to do without the file.
type OpenFile = (PathBuf, (u64, u64), &'static str);

/// The database, its log and its index. Open connections keep their inodes from being used again.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    files: OnceLock<[OpenFile; 3]>,
    is_lost: AtomicBool,
}

impl OpenFiles {
    /// Remembers the files. Log and index exist while a connection is open.
    pub(super) fn remember(&self, database: &Path) -> io::Result<()> {
        let target = database.canonicalize()?;
        let file = |path: &Path, suffix: &str, advice| {
            let mut path = path.as_os_str().to_owned();
            path.push(suffix);
            let path = PathBuf::from(path);
            inode(&path).map(|inode| (path, inode, advice))
        };
        let (log, index) = (file(&target, "-wal", RESTART)?, file(&target, "-shm", RESTART)?);
        let _ = self.files.set([file(database, "", RESTORE)?, log, index]);
        Ok(())
    }

    /// Fails while a file is not at its path.
    pub(super) fn check(&self) -> io::Result<()> {
        let lost = self.files.get().into_iter().flatten().find(|file| is_lost(file));
        self.is_lost.store(lost.is_some(), Relaxed);
        let Some((path, _, advice)) = lost else { return Ok(()) };
        let path = path.display();
        let problem = format!("{path} was deleted or replaced while it was open; {advice}");
        Err(io::Error::other(problem))
    }

    /// Fails if the last check did. Without a system call, for reads.
    pub(super) fn last_check(&self) -> io::Result<()> {
        if self.is_lost.load(Relaxed) { self.check() } else { Ok(()) }
    }

    /// Whether the database itself is not at its path.
    pub(super) fn is_database_lost(&self) -> bool {
        self.files.get().is_some_and(|[database, ..]| is_lost(database))
    }
}

fn is_lost((path, opened, _): &OpenFile) -> bool {
    inode(path).ok() != Some(*opened)
}
