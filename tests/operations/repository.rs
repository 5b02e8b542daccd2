//! Finds and reads the files of the repository that tests compare with the programs.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the path of a file or folder, of which `name` is the path from the root of the repository.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Reads a file. Panics if it cannot be read.
pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
