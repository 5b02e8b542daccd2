//! A small file system that only one process has mounted.

use std::{
    fs::{File, remove_file},
    io::{ErrorKind, Write as _, stderr},
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::process::Command;

const SIZE: &str = "size=4m,mode=0700";

/// Mounts the file system, copies the files of the folder into it, and then becomes the program.
/// The mount ends with the process.
const SCRIPT: &str = r#"set -e
    files=$(mktemp -d)
    cp -R "$2/." "$files"
    mount -t tmpfs -o "$1" disk "$2"
    cp -R "$files/." "$2"
    rm -r "$files"
    cd "$2"
    exec "$3""#;

/// Creates namespaces in which a user without privileges may mount.
const UNSHARE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

/// The small file system of a running process, as other processes reach it.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Returns whether this system permits such file systems. If not, prints that the test is
    /// skipped.
    pub async fn is_supported() -> bool {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = command(Path::new("true"), folder.path());
        let status = command.stdout(Stdio::null()).status().await;
        let is_supported = status.is_ok_and(|status| status.success());
        if !is_supported {
            // Writes to standard error directly, because the test harness hides what `eprintln`
            // prints.
            let command = UNSHARE.join(" ");
            let _ = writeln!(
                stderr(),
                "NOT TESTED: a full disk, because `{command}` fails here"
            );
        }
        is_supported
    }

    pub(crate) fn of_process(id: u32, folder: &Path) -> Self {
        let folder = folder.strip_prefix("/").expect("an absolute path");
        Self(
            Path::new("/proc")
                .join(id.to_string())
                .join("root")
                .join(folder),
        )
    }

    /// Fills the file system, so that no free space is left.
    pub fn fill(&self) {
        let mut file = File::create(self.filler()).expect("created");
        loop {
            match file.write(&[1; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("cannot fill the disk: {error}"),
            }
        }
    }

    /// Frees the space that [`SmallDisk::fill`] took.
    pub fn free(&self) {
        remove_file(self.filler()).expect("removed");
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

/// Returns a command that runs the program in a small file system at `folder`.
pub(crate) fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(UNSHARE[0]);
    command
        .args(&UNSHARE[1..])
        .args(["sh", "-c", SCRIPT, "sh", SIZE])
        .arg(folder)
        .arg(program);
    command
}
