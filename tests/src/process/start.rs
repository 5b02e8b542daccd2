//! Starts programs: with arguments, on a small disk, with a limit on open files, or with their own
//! host names.

use super::{Exit, Process, collect, print_on_panic::print_on_panic};
use crate::{
    program::Program,
    small_disk::{self, SmallDisk},
};
use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command as Shell, Stdio},
};
use tokio::{io::AsyncWriteExt as _, process::Command, sync::watch};

impl Process {
    /// Starts a program with these settings as its whole environment. Does not wait until it is
    /// ready.
    #[must_use]
    pub fn start(program: Program, settings: &BTreeMap<String, String>, folder: &Path) -> Self {
        Self::start_with(program, &[], settings, folder)
    }

    /// Starts a program with arguments and with these settings as its whole environment.
    #[must_use]
    pub fn start_with(
        program: Program,
        arguments: &[&str],
        settings: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Self {
        Self::spawn(program, arguments, settings, folder, Stdio::null())
    }

    /// Starts a program in a small file system of its own, which has the files of `folder` and is
    /// the working directory.
    #[must_use]
    pub fn start_on_small_disk(
        program: Program,
        settings: &BTreeMap<String, String>,
        folder: &Path,
    ) -> (Self, SmallDisk) {
        let command = small_disk::command(&program.path(), folder);
        let process = Self::spawn_command(program, command, settings, folder, Stdio::null());
        let disk = SmallDisk::of_process(process.id(), folder);
        (process, disk)
    }

    /// Starts a program with arguments and a limit on open files. The limit is written as for
    /// `ulimit`: `-n 64` for the soft and the hard limit, or `-S -n 64` for the soft one.
    #[must_use]
    pub fn start_with_open_files(
        program: Program,
        arguments: &[&str],
        limit: &str,
        settings: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "ulimit $0 && exec \"$@\"", limit]);
        shell.arg(program.path()).args(arguments);
        Self::spawn_command(program, shell, settings, folder, Stdio::null())
    }

    /// Runs a command to its end, with this text as its standard input.
    pub async fn run(
        program: Program,
        arguments: &[&str],
        settings: &BTreeMap<String, String>,
        folder: &Path,
        input: &str,
    ) -> Exit {
        let mut process = Self::spawn(program, arguments, settings, folder, Stdio::piped());
        let mut stdin = process.child.stdin.take().expect("its stdin is piped");
        // Writing fails if a command that reads no input has already ended.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        process.exit().await
    }

    /// Starts a program for which names resolve only by this file, which has the format of
    /// `/etc/hosts`.
    ///
    /// Works only on Linux, where the program gets its own mounts.
    #[must_use]
    pub fn start_with_hosts(
        program: Program,
        settings: &BTreeMap<String, String>,
        folder: &Path,
        hosts: &Path,
    ) -> Self {
        let permitted = Shell::new("unshare")
            .args(["--map-root-user", "--mount", "true"])
            .status();
        let is_permitted = permitted.is_ok_and(|status| status.success());
        assert!(
            is_permitted,
            "this test needs unshare(1) and the permission to mount for itself"
        );
        let mut command = Command::new("unshare");
        let mount_and_run = r#"mount --bind "$0" /etc/hosts && exec "$1""#;
        command.args(["--map-root-user", "--mount", "sh", "-c", mount_and_run]);
        command.arg(hosts).arg(program.path());
        Self::spawn_command(program, command, settings, folder, Stdio::null())
    }

    fn spawn(
        program: Program,
        arguments: &[&str],
        settings: &BTreeMap<String, String>,
        folder: &Path,
        stdin: Stdio,
    ) -> Self {
        let mut command = Command::new(program.path());
        command.args(arguments);
        Self::spawn_command(program, command, settings, folder, stdin)
    }

    fn spawn_command(
        program: Program,
        mut command: Command,
        settings: &BTreeMap<String, String>,
        folder: &Path,
        stdin: Stdio,
    ) -> Self {
        let mut child = command
            .env_clear()
            .envs(std::env::var_os("RUST_BACKTRACE").map(|value| ("RUST_BACKTRACE", value)))
            .envs(settings)
            .current_dir(folder)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        let id = child.id().expect("it has not been waited for");
        let stdout = child.stdout.take().expect("its stdout is piped");
        let stderr = child.stderr.take().expect("its stderr is piped");
        let log = watch::Sender::default();
        print_on_panic(program, id, &stderr, log.clone());
        Self {
            program,
            child,
            stdout: collect(stdout, watch::Sender::default()),
            stderr: collect(stderr, log),
        }
    }
}
