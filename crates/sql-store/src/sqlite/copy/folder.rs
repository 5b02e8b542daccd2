//! The folders of copies in progress.

use std::{
    fs::{self, DirEntry, File, Permissions, TryLockError},
    io,
    os::unix::fs::PermissionsExt,
    path::Path,
};
use tempfile::{Builder, TempDir};

// The names of the folders of unfinished copies.
const NAME_PREFIX: &str = ".rolegate-copy-";
const NAME_SUFFIX: &str = ".partial";

/// A folder for one copy, locked while it is in use. A lock of the copy itself would, on network file
/// systems, conflict with those of SQLite.
#[derive(Debug)]
pub(super) struct LockedFolder {
    pub(super) folder: TempDir,
    _lock: File,
}

impl LockedFolder {
    pub(super) fn create(parent: &Path) -> io::Result<Self> {
        let mut names = Builder::new();
        names
            .prefix(NAME_PREFIX)
            .suffix(NAME_SUFFIX)
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
pub(super) fn remove_abandoned(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)?.flatten() {
        if is_copy_folder(&entry)
            && let Ok(folder) = File::open(entry.path())
            && folder.try_lock().is_ok()
        {
            // Only its owner may be able to.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

fn is_copy_folder(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.as_encoded_bytes();
    entry.file_type().is_ok_and(|kind| kind.is_dir())
        && name.starts_with(NAME_PREFIX.as_bytes())
        && name.ends_with(NAME_SUFFIX.as_bytes())
}
