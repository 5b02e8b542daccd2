//! Temporary PostgreSQL clusters of the installed programs, for tests and measurements.
//!
//! A shell script runs each cluster and ends with this process, so a test that crashes leaves none
//! behind.
//!
//! - [`Cluster`]: a running cluster, which is removed when it is dropped or when this process ends.
//! - [`Database`]: a database for one test, on one server for each test executable.
//! - [`programs`]: finds the installed programs.
//! - [`conformance_tests`]: runs each case on SQLite and on PostgreSQL.

mod conformance;
mod database;
pub mod programs;

pub use database::{Database, TEST_SETTINGS, expect_started, server_url};

use std::{
    fs,
    io::{self, BufRead, BufReader, Write as _},
    net::{Ipv4Addr, TcpListener},
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// Creates a cluster, serves until its standard input ends, and removes it.
///
/// At each line of input the cluster crashes and starts again. This process holds the other end of
/// that pipe, so the cluster cannot outlive it. Arguments after the first two are settings. With a
/// certificate, the cluster offers TLS to clients that ask for it. With the port of a primary, it
/// is a standby of that primary.
const SCRIPT: &str = r#"
    set -eu
    trap '' HUP INT TERM
    bin=$1 port=$2
    shift 2
    dir=$(mktemp -d "${TMPDIR:-/tmp}/rolegate-postgres.XXXXXX")
    trap '"$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
    cd "$dir"
    options="-p $port -k '$dir' -c listen_addresses=127.0.0.1"
    for setting; do options="$options -c $setting"; done
    if [ -n "${PRIMARY-}" ]; then
        "$bin/pg_basebackup" -D data -X stream -c fast -R --no-sync \
            -d "host=127.0.0.1 port=$PRIMARY user=postgres application_name=standby"
    else
        "$bin/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync
    fi >log 2>&1 || { cat log; exit 1; }
    if [ -n "${CERTIFICATE-}" ]; then
        (umask 077 && echo "$CERTIFICATE" >data/server.crt && echo "$KEY" >data/server.key)
        options="$options -c ssl=on"
    fi
    "$bin/pg_ctl" -D data -w -t 60 -l log -o "$options" start >>start 2>&1 ||
        { cat log start; exit 1; }
    echo "started $(head -n 1 data/postmaster.pid)"
    while read -r _; do
        "$bin/pg_ctl" -D data -w -t 60 -l log -o "$options" -m immediate restart >>start 2>&1 ||
            { cat log start; exit 1; }
        echo "started $(head -n 1 data/postmaster.pid)"
    done
"#;

/// A running cluster, which is stopped and removed when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    /// The id of the cluster's first process, which is the parent of all others.
    pub pid: u32,
    /// The port on the loopback interface.
    pub port: u16,
    /// The folder of the PostgreSQL programs.
    pub programs: PathBuf,
    shell: Child,
    said: BufReader<ChildStdout>,
}

/// An environment variable for the script.
type Variable = (&'static str, String);

/// The reason why a cluster did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The programs were not found.
    #[error("PostgreSQL is not installed")]
    NotInstalled,
    /// PostgreSQL did not start, and this is its output.
    #[error("PostgreSQL did not start\n{0}")]
    Failed(String),
    /// A process could not be started, or no port was free.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Cluster {
    /// Creates and starts a cluster with `settings`, each of the form `name=value`.
    pub fn start(settings: &[&str]) -> Result<Self, StartError> {
        Self::start_somewhere(settings, &[])
    }

    /// Creates and starts a cluster that offers TLS with the certificate and the key in these PEM
    /// files.
    pub fn start_with_tls(
        settings: &[&str],
        certificate: &Path,
        key: &Path,
    ) -> Result<Self, StartError> {
        let identity = [
            ("CERTIFICATE", fs::read_to_string(certificate)?),
            ("KEY", fs::read_to_string(key)?),
        ];
        Self::start_somewhere(settings, &identity)
    }

    /// Creates and starts a standby of this cluster, which streams from it under the name
    /// `standby`.
    pub fn start_standby(&self, settings: &[&str]) -> Result<Self, StartError> {
        Self::start_somewhere(settings, &[("PRIMARY", self.port.to_string())])
    }

    fn start_somewhere(settings: &[&str], identity: &[Variable]) -> Result<Self, StartError> {
        let programs = programs::folder().ok_or(StartError::NotInstalled)?;
        // Tries several ports, because another process may take a free one before the cluster binds
        // it.
        let mut complaints = String::new();
        for _ in 0..3 {
            match Self::start_at(free_port()?, &programs, settings, identity) {
                Err(StartError::Failed(complaint)) => complaints += &complaint,
                other => return other,
            }
        }
        Err(StartError::Failed(complaints))
    }

    fn start_at(
        port: u16,
        programs: &Path,
        settings: &[&str],
        identity: &[Variable],
    ) -> Result<Self, StartError> {
        let mut shell = shell_without_privileges()
            .envs(identity.iter().map(|(name, value)| (name, value)))
            .args(["-c", SCRIPT, "cluster"])
            .arg(programs)
            .arg(port.to_string())
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let mut said = BufReader::new(shell.stdout.take().expect("its output is piped"));
        match first_process(&mut said) {
            Err(StartError::Failed(complaint)) => {
                shell.wait()?;
                Err(StartError::Failed(complaint))
            }
            pid => Ok(Self {
                pid: pid?,
                port,
                programs: programs.to_owned(),
                shell,
                said,
            }),
        }
    }

    /// Ends all processes of the cluster at once, which loses what was in their memory, and starts
    /// them again.
    pub fn crash(&mut self) -> Result<(), StartError> {
        self.shell
            .stdin
            .as_mut()
            .ok_or(StartError::NotInstalled)?
            .write_all(b"\n")?;
        self.pid = first_process(&mut self.said)?;
        Ok(())
    }

    /// Returns the URL of a database in the cluster.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

impl Cluster {
    /// Stops the cluster at once and removes it.
    pub fn stop(&mut self) {
        let Some(input) = self.shell.stdin.take() else {
            return;
        };
        self.signal("CONT");
        // The script stops the cluster when its input ends.
        drop(input);
        let _ = self.shell.wait();
    }

    /// Sends a signal such as `STOP` to all processes of the cluster.
    pub fn signal(&self, name: &str) {
        let script = r#"kill -"$1" "$2" $(cat "/proc/$2/task/$2/children") 2>/dev/null"#;
        let _ = Command::new("sh")
            .args(["-c", script, "signal", name, &self.pid.to_string()])
            .status();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the id of the first process once the cluster has started. If it did not start, its
/// output is the error.
fn first_process(said: &mut impl BufRead) -> Result<u32, StartError> {
    let mut line = String::new();
    said.read_line(&mut line)?;
    let pid = line
        .strip_prefix("started ")
        .and_then(|pid| pid.trim().parse().ok());
    if pid.is_none() {
        said.read_to_string(&mut line)?;
    }
    pid.ok_or(StartError::Failed(line))
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

/// Returns a shell without the privileges of root, as whom PostgreSQL refuses to run.
fn shell_without_privileges() -> Command {
    let is_root = Path::new("/proc/self")
        .metadata()
        .is_ok_and(|this| this.uid() == 0);
    if !is_root {
        return Command::new("sh");
    }
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=postgres",
        "--regid=postgres",
        "--init-groups",
        "--",
        "sh",
    ]);
    command.current_dir("/");
    command
}
