//! A started program: its addresses, its output, and its end.
//!
//! `start` has the ways to start a program. Tasks read its output from then on, so a test can wait
//! for addresses and log lines. When a test fails, `print_on_panic` prints the logs.

mod print_on_panic;
mod start;

use crate::{
    Api,
    eventually::{TIMEOUT, eventually, within_bounds},
    program::Program,
};
use std::{net::SocketAddr, process::Command as Shell};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::Child,
    sync::watch,
};

/// A running program, which is killed when it is dropped.
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
    /// The exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// The complete standard output.
    pub stdout: String,
    /// The complete log, from standard error.
    pub stderr: String,
}

#[derive(Debug, Default)]
struct Output {
    text: String,
    has_ended: bool,
}

impl Process {
    /// Waits until the program has printed the addresses of all its listeners.
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
        assert!(
            is_ready,
            "{name} is not ready\n{}\n{}",
            self.stdout(),
            self.stderr()
        );
        self
    }

    /// Waits until the program is ready. If it ends instead, returns how.
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
        if is_ready.await {
            None
        } else {
            Some(self.exit().await)
        }
    }

    /// Returns the URL of the listener with this name, such as `http://127.0.0.1:43211`.
    #[must_use]
    pub fn address(&self, listener: &str) -> String {
        listener_url(&self.stdout.borrow().text, listener)
            .unwrap_or_else(|| panic!("{} has no listener {listener}", self.program.name()))
    }

    /// Returns the address of the listener with this name.
    ///
    /// # Panics
    ///
    /// Panics if there is no such listener.
    #[must_use]
    pub fn socket_address(&self, listener: &str) -> SocketAddr {
        let url = self.address(listener);
        let address = url.split("://").last().unwrap_or_default();
        address.parse().expect("an address and a port")
    }

    /// Returns the standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.borrow().text.clone()
    }

    /// Returns the log so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.borrow().text.clone()
    }

    /// Waits for a log line that satisfies `is_match`. Panics if the program ends without one.
    pub async fn logs(&self, what: &str, is_match: impl Fn(&str) -> bool) {
        let mut stderr = self.stderr.clone();
        within_bounds(what, async {
            loop {
                // Copies the log, so that nothing is locked if `is_match` panics: a panic reads the
                // log.
                let (text, has_ended) = {
                    let log = stderr.borrow_and_update();
                    (log.text.clone(), log.has_ended)
                };
                if has_ended || text.lines().any(&is_match) {
                    break;
                }
                stderr
                    .changed()
                    .await
                    .expect("the reader lives as long as this");
            }
        })
        .await;
        assert!(
            self.stderr().lines().any(&is_match),
            "no log line of {what}:\n{}",
            self.stderr()
        );
    }

    /// Waits until `/readyz` of the program returns this status.
    pub async fn wait_for_readiness(&self, status: u16) {
        let ops = Api::at(&self.address("ops"));
        eventually("readiness", async || {
            (ops.get("/readyz").await.status == status).then_some(())
        })
        .await;
    }

    /// Sends SIGKILL, and waits until the program has ended.
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

    /// Sends SIGHUP, on which the program reloads its files.
    pub fn reload(&self) {
        self.signal("HUP");
    }

    /// Freezes the program with SIGSTOP. It cannot notice that; it keeps its connections and does
    /// nothing.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets the program continue after [`Process::freeze`].
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id().expect("it has not ended yet")
    }

    fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let status = Shell::new("sh")
            .args(["-c", "kill -\"$1\" \"$2\"", "kill", name, &id])
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "it can be signalled"
        );
    }

    /// Waits until the program has ended.
    pub async fn exit(mut self) -> Exit {
        let what = format!("{} to end", self.program.name());
        let status = within_bounds(&what, self.child.wait())
            .await
            .expect("it can be waited for");
        for output in [&mut self.stdout, &mut self.stderr] {
            let ended = output.wait_for(|output| output.has_ended);
            drop(within_bounds("the end of its output", ended).await);
        }
        Exit {
            code: status.code(),
            stdout: self.stdout(),
            stderr: self.stderr(),
        }
    }
}

/// Finds the URL of a listener in the output. The output is a notice in JSON, or has complete lines
/// such as `  bearer  http://127.0.0.1:43211   access tokens and roles`.
fn listener_url(stdout: &str, listener: &str) -> Option<String> {
    stdout
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .find_map(|line| {
            if let Ok(notice) = serde_json::from_str::<serde_json::Value>(line) {
                return notice["listeners"][listener].as_str().map(str::to_owned);
            }
            let mut words = line.split_whitespace();
            (words.next() == Some(listener)).then(|| words.next().map(str::to_owned))?
        })
}

/// Reads a pipe to its end.
fn collect(
    pipe: impl AsyncRead + Unpin + Send + 'static,
    sender: watch::Sender<Output>,
) -> watch::Receiver<Output> {
    let output = sender.subscribe();
    tokio::spawn(async move {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe
            .read_until(b'\n', &mut line)
            .await
            .is_ok_and(|read| read > 0)
        {
            sender.send_modify(|output| output.text += &String::from_utf8_lossy(&line));
            line.clear();
        }
        sender.send_modify(|output| output.has_ended = true);
    });
    output
}
