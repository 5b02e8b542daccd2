//! Finds the installed PostgreSQL programs.

use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the folder of `initdb`, `postgres` and `pg_ctl`. Looks in the `PATH`, then asks
/// `pg_config`, then takes the newest Debian package.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| resolved(&folder));
    let packaged = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut packaged: Vec<_> = packaged.map(|version| version.path().join("bin")).collect();
    packaged.sort_by_key(|folder| Reverse(version_of(folder)));
    on_path
        .chain(from_pg_config())
        .chain(packaged)
        .find(|folder| {
            ["initdb", "postgres", "pg_ctl"]
                .iter()
                .all(|name| folder.join(name).is_file())
        })
}

/// Follows the link of `initdb`. Debian links single programs into the `PATH`, and the others are
/// only where the link points.
fn resolved(folder: &Path) -> PathBuf {
    let initdb = folder.join("initdb").canonicalize();
    initdb
        .ok()
        .and_then(|file| Some(file.parent()?.to_owned()))
        .unwrap_or(folder.to_owned())
}

fn from_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

fn version_of(folder: &Path) -> Option<u32> {
    folder.parent()?.file_name()?.to_str()?.parse().ok()
}
