//! Compares and resolves the paths of SQLite files.

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The maximum number of symbolic links that Linux follows in one path.
const MAX_LINKS: usize = 40;

/// Returns the folder that contains a file, or will contain it.
pub(crate) fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns the path of a file that belongs to this one, whose name has the suffix in addition.
pub fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Identifies a file independently of its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Identifies the file that a path leads to.
    pub(super) fn find(path: &Path) -> io::Result<Self> {
        let metadata = path.metadata()?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

/// Returns whether two paths lead to the same file, even through links to files or folders. The file need not
/// exist.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    match (FileId::find(one), FileId::find(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), Err(_)) => resolve(one, MAX_LINKS) == resolve(other, MAX_LINKS),
        _ => false,
    }
}

/// Returns the canonical form of a path, even if its last parts do not exist. A dangling link resolves to the
/// file that opening it would create.
fn resolve(path: &Path, links: usize) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    // This check also ends the recursion if the working directory was removed.
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

#[cfg(test)]
mod tests {
    use super::same_file;
    use std::os::unix::fs::symlink;

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
