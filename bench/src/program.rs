//! Starts a process under test with only its own settings, and kills it when its handle is dropped.

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

/// The maximum time until a program has printed all its addresses.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running program.
#[derive(Debug)]
pub(crate) struct Program {
    /// The name of the program in the report.
    pub(crate) name: &'static str,
    /// The id of the process.
    pub(crate) pid: u32,
    listeners: HashMap<String, SocketAddr>,
    _child: Child,
    /// The output of the program, kept open so that printing more does not fail.
    _stdout: BufReader<ChildStdout>,
}

/// The description of a program to start.
pub(crate) struct Launch<'a> {
    /// The name of the program in the report.
    pub(crate) name: &'static str,
    /// The executable.
    pub(crate) file: PathBuf,
    /// The arguments.
    pub(crate) arguments: &'a [&'a str],
    /// The whole environment but `PATH`.
    pub(crate) settings: &'a [(&'a str, &'a str)],
    /// The names of its listeners. The program is ready when it has printed the address of each.
    pub(crate) listeners: &'a [&'a str],
}

impl Program {
    /// Starts the program and waits until it listens. Its log goes to a file in `folder`.
    pub(crate) async fn start(launch: Launch<'_>, folder: &Path) -> Result<Self, Failure> {
        let log = folder.join(format!("{}.log", launch.name.replace(' ', "-")));
        // The program gets a session of its own, as under a service manager or in a container, because Linux with
        // autogroup divides CPU time among sessions first. The kernel kills the program when this process ends.
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
        let pid = child.id().ok_or("the process has already ended")?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("its stdout is piped")?);
        let printed = timeout(START_TIMEOUT, listeners(&mut stdout, launch.listeners)).await;
        let Ok(Some(listeners)) = printed else {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("{} did not start\n{log}", launch.name).into());
        };
        Ok(Self {
            name: launch.name,
            pid,
            listeners,
            _child: child,
            _stdout: stdout,
        })
    }

    /// Returns the address of a listener.
    pub(crate) fn address(&self, listener: &str) -> Result<SocketAddr, Failure> {
        let address = self.listeners.get(listener);
        address
            .copied()
            .ok_or_else(|| format!("{} has no listener {listener}", self.name).into())
    }
}

/// Reads lines such as `  bearer  http://127.0.0.1:43211` until all `wanted` listeners are found.
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
        let (name, url) = (words.next(), words.next());
        let address = url.and_then(|url| url.strip_prefix("http://")?.parse().ok());
        if let (Some(name), Some(address)) = (name, address)
            && wanted.contains(&name)
        {
            found.insert(name.to_owned(), address);
        }
    }
    Some(found)
}
