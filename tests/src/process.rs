//! A program that was started, what it says and how it ends.

use crate::{eventually::within_bounds, program::Program};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::Path,
    process::{Command as Shell, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
};

/// A running program. Dropped, it is killed: nothing may rely on a clean end unless a test asks
/// for one.
#[derive(Debug)]
pub struct Process {
    program: Program,
    child: Child,
    stdout: watch::Receiver<Said>,
    stderr: watch::Receiver<Said>,
}

/// How a program ended.
#[derive(Debug)]
pub struct Exit {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Everything it said to people.
    pub stdout: String,
    /// Everything it logged.
    pub stderr: String,
}

#[derive(Debug, Default)]
struct Said {
    text: String,
    has_ended: bool,
}

impl Process {
    /// Starts a program with these settings and no other environment. Does not wait for it.
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
        let stdin = Stdio::null();
        Self::spawn(program, arguments, settings, folder, stdin)
    }

    /// Runs a command to its end, with this text on its standard input.
    pub async fn run(
        program: Program,
        arguments: &[&str],
        settings: &BTreeMap<String, String>,
        folder: &Path,
        input: &str,
    ) -> Exit {
        let mut process = Self::spawn(program, arguments, settings, folder, Stdio::piped());
        let mut stdin = process.child.stdin.take().expect("its stdin is piped");
        // A command that needs no input may have ended already.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        process.exit().await
    }

    fn spawn(
        program: Program,
        arguments: &[&str],
        settings: &BTreeMap<String, String>,
        folder: &Path,
        stdin: Stdio,
    ) -> Self {
        let mut child = Command::new(program.path())
            .args(arguments)
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
        let stdout = listen(child.stdout.take().expect("its stdout is piped"));
        let stderr = listen(child.stderr.take().expect("its stderr is piped"));
        Self { program, child, stdout, stderr }
    }

    /// Waits until it has said where it listens.
    pub async fn ready(self) -> Self {
        let mut stdout = self.stdout.clone();
        let wanted = self.program.listeners();
        let ready = stdout.wait_for(|said| {
            said.has_ended || wanted.iter().all(|name| place(&said.text, name).is_some())
        });
        let name = self.program.name();
        let is_ready = matches!(
            tokio::time::timeout(Duration::from_mins(1), ready).await,
            Ok(Ok(said)) if !said.has_ended
        );
        assert!(is_ready, "{name} is not ready\n{}\n{}", self.stdout(), self.stderr());
        self
    }

    /// Where the listener of this name listens, such as `http://127.0.0.1:43211`.
    #[must_use]
    pub fn address(&self, listener: &str) -> String {
        place(&self.stdout.borrow().text, listener)
            .unwrap_or_else(|| panic!("{} has no listener {listener}", self.program.name()))
    }

    /// The same, as an address to connect to.
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

    /// What it has said to people until now.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.borrow().text.clone()
    }

    /// What it has logged until now.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.borrow().text.clone()
    }

    /// Waits for a log line that satisfies `is_it`; fails when the program ends before.
    pub async fn logs(&self, what: &str, is_it: impl Fn(&str) -> bool) {
        let mut stderr = self.stderr.clone();
        let found = stderr.wait_for(|said| said.has_ended || said.text.lines().any(&is_it));
        drop(within_bounds(what, found).await.expect("the listener lives as long as this"));
        assert!(self.stderr().lines().any(&is_it), "no log line says {what}:\n{}", self.stderr());
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it can be killed");
    }

    /// Asks it to end, as an orchestrator does.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Asks it to read its files again.
    pub fn reload(&self) {
        self.signal("HUP");
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().expect("it has not ended yet").to_string();
        let status =
            Shell::new("sh").args(["-c", "kill -\"$1\" \"$2\"", "kill", name, &id]).status();
        assert!(status.is_ok_and(|status| status.success()), "it can be signalled");
    }

    /// Waits until it has ended.
    pub async fn exit(mut self) -> Exit {
        let what = format!("{} to end", self.program.name());
        let status = within_bounds(&what, self.child.wait()).await.expect("it can be waited for");
        for said in [&mut self.stdout, &mut self.stderr] {
            let ended = said.wait_for(|said| said.has_ended);
            drop(within_bounds("the end of its output", ended).await);
        }
        Exit { code: status.code(), stdout: self.stdout(), stderr: self.stderr() }
    }
}

/// `  bearer  http://127.0.0.1:43211   access tokens and roles`
fn place(stdout: &str, listener: &str) -> Option<String> {
    stdout.split_inclusive('\n').filter(|line| line.ends_with('\n')).find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(listener)).then(|| words.next().map(str::to_owned))?
    })
}

fn listen(pipe: impl AsyncRead + Unpin + Send + 'static) -> watch::Receiver<Said> {
    let (heard, said) = watch::channel(Said::default());
    tokio::spawn(async move {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            heard.send_modify(|said| said.text += &String::from_utf8_lossy(&line));
            line.clear();
        }
        heard.send_modify(|said| said.has_ended = true);
    });
    said
}
