//! A started program: its addresses, its output, its end.

use crate::{
    Api,
    eventually::{TIMEOUT, eventually, within_bounds},
    program::Program,
    small_disk::{self, SmallDisk},
};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::Path,
    process::{Command as Shell, Stdio},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
};

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Process {
    program: Program,
    child: Child,
    stdout: watch::Receiver<Output>,
    stderr: watch::Receiver<Output>,
}

/// How a program ended.
#[derive(Debug)]
pub struct Exit {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Its complete standard output.
    pub stdout: String,
    /// Its complete log.
    pub stderr: String,
}

#[derive(Debug, Default)]
struct Output {
    text: String,
    has_ended: bool,
}

impl Process {
    /// Starts a program with these settings as its whole environment. Does not wait for it.
    #[must_use]
    pub fn start(program: Program, settings: &BTreeMap<String, String>, folder: &Path) -> Self {
        Self::start_with(program, &[], settings, folder)
    }

    /// The same, with arguments.
    #[must_use]
    pub fn start_with(
        program: Program,
        arguments: &[&str],
        settings: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Self {
        Self::spawn(program, arguments, settings, folder, Stdio::null())
    }

    /// Starts a program whose working directory is a small file system of its own.
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

    /// Starts a program with arguments and this limit of open files, soft and hard.
    #[must_use]
    pub fn start_with_open_files(
        program: Program,
        arguments: &[&str],
        limit: u32,
        settings: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "ulimit -n \"$0\" && exec \"$@\"", &limit.to_string()]);
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
        // A command that reads no input may have ended already.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        process.exit().await
    }

    /// The same; names resolve by this file only, which has the form of `/etc/hosts`. Linux only: the
    /// program gets mounts of its own.
    #[must_use]
    pub fn start_with_hosts(
        program: Program,
        settings: &BTreeMap<String, String>,
        folder: &Path,
        hosts: &Path,
    ) -> Self {
        let permitted = Shell::new("unshare").args(["--map-root-user", "--mount", "true"]).status();
        let is_permitted = permitted.is_ok_and(|status| status.success());
        assert!(is_permitted, "this test needs unshare(1) and the permission to mount for itself");
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
        let stdout = collect(child.stdout.take().expect("its stdout is piped"));
        let stderr = collect(child.stderr.take().expect("its stderr is piped"));
        Self { program, child, stdout, stderr }
    }

    /// Waits until it has printed the addresses of all its listeners.
    pub async fn ready(self) -> Self {
        let mut stdout = self.stdout.clone();
        let listeners = self.program.listeners();
        let ready = stdout.wait_for(|output| {
            let is_printed = |name: &&str| listener_url(&output.text, name).is_some();
            output.has_ended || listeners.iter().all(is_printed)
        });
        let name = self.program.name();
        let is_ready = matches!(
            tokio::time::timeout(TIMEOUT, ready).await,
            Ok(Ok(output)) if !output.has_ended
        );
        assert!(is_ready, "{name} is not ready\n{}\n{}", self.stdout(), self.stderr());
        self
    }

    /// Waits until it is ready, or returns how it ended instead.
    pub async fn ready_or_ended(mut self) -> Option<Exit> {
        let (name, listeners) = (self.program.name(), self.program.listeners());
        let mut stdout = self.stdout.clone();
        let ready = stdout.wait_for(|output| {
            let is_printed = |name: &&str| listener_url(&output.text, name).is_some();
            listeners.iter().all(is_printed)
        });
        let is_ready = within_bounds(name, async {
            tokio::select! { ready = ready => ready.is_ok(), _ = self.child.wait() => false }
        });
        if is_ready.await { None } else { Some(self.exit().await) }
    }

    /// The URL of the listener of this name, such as `http://127.0.0.1:43211`.
    #[must_use]
    pub fn address(&self, listener: &str) -> String {
        listener_url(&self.stdout.borrow().text, listener)
            .unwrap_or_else(|| panic!("{} has no listener {listener}", self.program.name()))
    }

    /// The address of the listener of this name.
    ///
    /// # Panics
    ///
    /// Without such a listener.
    #[must_use]
    pub fn socket_address(&self, listener: &str) -> SocketAddr {
        let url = self.address(listener);
        let address = url.split("://").last().unwrap_or_default();
        address.parse().expect("an address and a port")
    }

    /// Its standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.borrow().text.clone()
    }

    /// Its log so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.borrow().text.clone()
    }

    /// Waits for a log line that satisfies `is_match`; panics when the program ends without it.
    pub async fn logs(&self, what: &str, is_match: impl Fn(&str) -> bool) {
        let mut stderr = self.stderr.clone();
        let found = stderr.wait_for(|log| log.has_ended || log.text.lines().any(&is_match));
        drop(within_bounds(what, found).await.expect("the reader lives as long as this"));
        assert!(self.stderr().lines().any(&is_match), "no log line of {what}:\n{}", self.stderr());
    }

    /// Waits until its `/readyz` returns this status.
    pub async fn wait_for_readiness(&self, status: u16) {
        let ops = Api::at(&self.address("ops"));
        eventually("readiness", async || (ops.get("/readyz").await.status == status).then_some(()))
            .await;
    }

    /// Sends SIGKILL, and waits until it has ended.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it can be killed");
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends SIGHUP, on which it reloads its files.
    pub fn reload(&self) {
        self.signal("HUP");
    }

    /// Stops it without its knowledge (SIGSTOP): it keeps its connections and does nothing.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Continues it after [`Process::freeze`].
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id().expect("it has not ended yet")
    }

    fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let status =
            Shell::new("sh").args(["-c", "kill -\"$1\" \"$2\"", "kill", name, &id]).status();
        assert!(status.is_ok_and(|status| status.success()), "it can be signalled");
    }

    /// Waits until it has ended.
    pub async fn exit(mut self) -> Exit {
        let what = format!("{} to end", self.program.name());
        let status = within_bounds(&what, self.child.wait()).await.expect("it can be waited for");
        for output in [&mut self.stdout, &mut self.stderr] {
            let ended = output.wait_for(|output| output.has_ended);
            drop(within_bounds("the end of its output", ended).await);
        }
        Exit { code: status.code(), stdout: self.stdout(), stderr: self.stderr() }
    }
}

/// Of a complete line such as `  bearer  http://127.0.0.1:43211   access tokens and roles`, or of a
/// notice in JSON.
fn listener_url(stdout: &str, listener: &str) -> Option<String> {
    stdout.split_inclusive('\n').filter(|line| line.ends_with('\n')).find_map(|line| {
        if let Ok(notice) = serde_json::from_str::<serde_json::Value>(line) {
            return notice["listeners"][listener].as_str().map(str::to_owned);
        }
        let mut words = line.split_whitespace();
        (words.next() == Some(listener)).then(|| words.next().map(str::to_owned))?
    })
}

fn collect(pipe: impl AsyncRead + Unpin + Send + 'static) -> watch::Receiver<Output> {
    let (sender, output) = watch::channel(Output::default());
    tokio::spawn(async move {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            sender.send_modify(|output| output.text += &String::from_utf8_lossy(&line));
            line.clear();
        }
        sender.send_modify(|output| output.has_ended = true);
    });
    output
}
