//! The file of a database, and the one beside it whose lock gives the right to prepare it.

use crate::open::OpenFailure;
use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// As many links as Linux follows.
const LINKS: usize = 40;

/// Whether the file is there. Where none can be, the problem: it goes on from the name of a setting.
pub fn file_exists(file: &Path) -> Result<bool, String> {
    let path = file.display();
    match file.metadata() {
        Ok(found) if found.is_dir() => Err(format!("{path} is a folder; name a file in it")),
        Ok(found) if !found.is_file() => Err(format!("{path} is not a file")),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = file.parent().filter(|path| !path.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            if folder.is_dir() {
                Ok(false)
            } else {
                Err(format!("{path} cannot be made: there is no folder {}", folder.display()))
            }
        }
        Err(error) => Err(format!("{path} cannot be opened: {error}")),
    }
}

/// Whether two paths lead to one file, which need not exist: by another spelling, a link to it, or
/// one to its folder.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    match (identity(one), identity(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => resolved(one, LINKS) == resolved(other, LINKS),
        _ => false,
    }
}

/// The one spelling of a path, of which only the first part need exist. A link that leads to nothing
/// is where a file would be made.
fn resolved(path: &Path, links: usize) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let Some(above) = path.parent() else { return path.to_owned() };
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let mut folder = resolved(above, links);
    let Some(name) = path.file_name() else {
        // It ends in two dots.
        folder.pop();
        return folder;
    };
    let place = folder.join(name);
    match place.read_link() {
        Ok(target) if links > 0 => resolved(&folder.join(target), links - 1),
        _ => place,
    }
}

/// Waits for the right to prepare the file: neither the switch to WAL nor sqlx's migrator is safe
/// in company. The system lets the lock go with its holder, however that ends.
pub(super) async fn lock_exclusive(file: &Path) -> Result<File, OpenFailure> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".lock");
    let lock = private_file(&PathBuf::from(beside))?;
    let waiting = tokio::task::spawn_blocking(move || {
        lock.lock()?;
        Ok(lock)
    });
    let turn = waiting.await.map_err(io::Error::other).flatten();
    turn.map_err(|error| OpenFailure::Failed(error.into()))
}

/// Opens a file that only this user may read, made if it is missing. SQLite gives the files that it
/// puts beside the database the same mode.
pub(super) fn private_file(path: &Path) -> Result<File, OpenFailure> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(|error| explain(path, error))
}

/// Another name, another folder or other rights would help, or they would not.
fn explain(path: &Path, error: io::Error) -> OpenFailure {
    match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::PermissionDenied
        | ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::InvalidFilename => {
            let path = path.display();
            OpenFailure::Setting(format!("{path} cannot be opened or made: {error}"))
        }
        _ => OpenFailure::Failed(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{explain, file_exists, same_file};
    use crate::open::OpenFailure;
    use std::{io, os::unix::fs::symlink, path::Path};

    #[test]
    fn only_a_file_or_room_for_one_can_be_a_database() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("users.db");
        assert_eq!(file_exists(&file), Ok(false));
        std::fs::write(&file, "").expect("written");
        assert_eq!(file_exists(&file), Ok(true));
        let (round, link) = (folder.path().join("round"), folder.path().join("link"));
        symlink(&round, &round).expect("linked");
        symlink(&file, &link).expect("linked");
        assert_eq!(file_exists(&link), Ok(true));
        for (path, why) in [
            (folder.path(), "is a folder"),
            (Path::new("/dev/null"), "is not a file"),
            (&folder.path().join("nowhere/users.db"), "there is no folder"),
            (&file.join("users.db"), "cannot be opened"),
            (&folder.path().join("x".repeat(300)), "cannot be opened"),
            (&round, "cannot be opened"),
        ] {
            let problem = file_exists(path).expect_err(why);
            assert!(problem.contains(why), "{problem}");
        }
    }

    #[test]
    fn a_file_is_the_same_by_every_name_before_and_after_it_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("a")).expect("made");
        symlink("a", at("link-to-a")).expect("linked");
        symlink("a/users.db", at("link")).expect("linked");
        symlink("link", at("link-to-link")).expect("linked");
        let names =
            ["a/users.db", "./a/../a//users.db", "link-to-a/users.db", "link", "link-to-link"];
        for is_made in [false, true] {
            for name in names {
                assert!(same_file(&at("a/users.db"), &at(name)), "{name}, made: {is_made}");
                assert!(!same_file(&at("a/posts.db"), &at(name)), "{name}, made: {is_made}");
            }
            std::fs::write(at("a/users.db"), "").expect("written");
        }
        std::fs::hard_link(at("a/users.db"), at("hard")).expect("linked");
        assert!(same_file(&at("a/users.db"), &at("hard")));
        assert!(same_file(&at("not/made/x.db"), &at("a/../not/./made/../made/x.db")));
        assert!(!same_file(&at("not/made/x.db"), &at("not/x.db")));
    }

    #[test]
    fn missing_rights_are_a_wrong_setting_and_a_full_disk_is_not() {
        let judged = |kind: io::ErrorKind| explain(Path::new("/a/b.db"), kind.into());
        assert!(matches!(judged(io::ErrorKind::PermissionDenied), OpenFailure::Setting(_)));
        assert!(matches!(judged(io::ErrorKind::ReadOnlyFilesystem), OpenFailure::Setting(_)));
        assert!(matches!(judged(io::ErrorKind::StorageFull), OpenFailure::Failed(_)));
    }
}
