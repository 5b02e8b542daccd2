//! A throw-away PostgreSQL from the installed programs, with its default settings but for what
//! [`SETTINGS`] says.

use crate::Failure;
use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::{Ipv4Addr, TcpListener},
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// All that differs from the defaults (`fsync` is on, `shared_buffers` are 128 MB): 128 clients of
/// pgbench and the pools of four programs must find a place.
pub(crate) const SETTINGS: &str = "max_connections=300";

/// Makes a cluster, serves until its standard input ends, and leaves nothing behind. This process
/// holds the other end of that pipe, so the cluster cannot outlive it, however it ends.
const SCRIPT: &str = r#"
    set -eu
    trap '' HUP INT TERM
    bin=$1 port=$2 settings=$3
    dir=$(mktemp -d "${TMPDIR:-/tmp}/rolegate-load.XXXXXX")
    trap '"$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
    cd "$dir"
    "$bin/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1 &&
    "$bin/pg_ctl" -D data -w -t 60 -l log \
        -o "-p $port -k '$dir' -c listen_addresses=127.0.0.1 -c $settings" start >>start 2>&1 ||
        { cat log start; exit 1; }
    echo "started $(head -n 1 data/postmaster.pid)"
    cat >/dev/null
"#;

/// A running cluster; stopped and removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Its first process; the parent of all others.
    pub(crate) pid: u32,
    /// Where it listens, on the loopback interface.
    pub(crate) port: u16,
    /// The folder of its programs.
    pub(crate) programs: PathBuf,
    shell: Child,
}

impl Cluster {
    /// Makes and starts it.
    pub(crate) fn start() -> Result<Self, Failure> {
        let programs =
            programs().ok_or("PostgreSQL is not installed; tests/load/run installs it")?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut shell = shell_without_privileges()
            .args(["-c", SCRIPT, "cluster"])
            .arg(&programs)
            .args([&port.to_string(), SETTINGS])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let mut said = BufReader::new(shell.stdout.take().ok_or("its stdout is piped")?);
        let mut line = String::new();
        said.read_line(&mut line)?;
        let Some(pid) = line.strip_prefix("started ").and_then(|pid| pid.trim().parse().ok())
        else {
            said.read_to_string(&mut line)?;
            return Err(format!("PostgreSQL did not start\n{line}").into());
        };
        Ok(Self { pid, port, programs, shell })
    }

    /// The URL of a database in it.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The end of its input ends the script, and the script the cluster.
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// PostgreSQL refuses to be root.
fn shell_without_privileges() -> Command {
    let is_root = Path::new("/proc/self").metadata().is_ok_and(|this| this.uid() == 0);
    if !is_root {
        return Command::new("sh");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--", "sh"]);
    command.current_dir("/");
    command
}

/// The folder of `initdb`, `pg_ctl` and `pgbench`; the newest where there are several.
fn programs() -> Option<PathBuf> {
    let packaged = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut packaged: Vec<_> = packaged.map(|version| version.path()).collect();
    packaged.sort_by_key(|folder| {
        let version = folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        std::cmp::Reverse(version)
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = packaged.into_iter().map(|version| version.join("bin"));
    let has_all = |folder: &PathBuf| {
        ["initdb", "pg_ctl", "pgbench"].iter().all(|name| folder.join(name).is_file())
    };
    folders.find(has_all).or_else(|| std::env::split_paths(&path).find(has_all))
}
