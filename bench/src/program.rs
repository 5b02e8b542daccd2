//! A program under test: started with its settings alone, killed when it is dropped.

use crate::Failure;
use std::{
    collections::HashMap,
    fs::File,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// Longest time from its start until it has said where it listens.
const START: Duration = Duration::from_secs(30);

/// A running program.
#[derive(Debug)]
pub(crate) struct Program {
    /// What it is called in the report.
    pub(crate) name: &'static str,
    /// Its process.
    pub(crate) pid: u32,
    listeners: HashMap<String, SocketAddr>,
    _child: Child,
    /// Open, so that whatever it says later finds a reader.
    _stdout: BufReader<ChildStdout>,
}

/// How to start a program.
pub(crate) struct Launch<'a> {
    /// What it is called in the report.
    pub(crate) name: &'static str,
    /// Its executable.
    pub(crate) file: PathBuf,
    /// Its arguments.
    pub(crate) arguments: &'a [&'a str],
    /// Its whole environment.
    pub(crate) settings: &'a [(&'a str, &'a str)],
    /// The first words of the lines with which it says where it listens; it is ready after them.
    pub(crate) listeners: &'a [&'a str],
}

impl Program {
    /// Starts it and waits until it listens. Its log goes into a file of `folder`.
    pub(crate) async fn start(launch: Launch<'_>, folder: &Path) -> Result<Self, Failure> {
        let log = folder.join(format!("{}.log", launch.name.replace(' ', "-")));
        // A session of its own, as a service manager or a container gives it: with autogroup Linux
        // shares the processors among sessions first. However this process ends, the kernel ends
        // the program with it.
        let mut child = Command::new("setsid")
            .args(["setpriv", "--pdeathsig", "KILL", "--"])
            .arg(&launch.file)
            .args(launch.arguments)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(launch.settings.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", launch.file.display()))?;
        let pid = child.id().ok_or("it has ended already")?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("its stdout is piped")?);
        let heard = timeout(START, listeners(&mut stdout, launch.listeners)).await;
        let Ok(Some(listeners)) = heard else {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("{} did not start\n{log}", launch.name).into());
        };
        Ok(Self { name: launch.name, pid, listeners, _child: child, _stdout: stdout })
    }

    /// Where the listener of this name listens.
    pub(crate) fn address(&self, listener: &str) -> Result<SocketAddr, Failure> {
        let address = self.listeners.get(listener);
        address.copied().ok_or_else(|| format!("{} has no {listener}", self.name).into())
    }
}

/// Reads lines such as `  bearer  http://127.0.0.1:43211` until all `wanted` have come.
async fn listeners(
    stdout: &mut BufReader<ChildStdout>,
    wanted: &[&str],
) -> Option<HashMap<String, SocketAddr>> {
    let mut found = HashMap::new();
    let mut line = String::new();
    while found.len() < wanted.len() {
        line.clear();
        if stdout.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let mut words = line.split_whitespace();
        let (name, place) = (words.next(), words.next());
        let address = place.and_then(|place| place.strip_prefix("http://")?.parse().ok());
        if let (Some(name), Some(address)) = (name, address)
            && wanted.contains(&name)
        {
            found.insert(name.to_owned(), address);
        }
    }
    Some(found)
}
