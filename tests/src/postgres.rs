//! A real PostgreSQL: the one of `TEST_DATABASE_URL`, else a throw-away cluster from the installed
//! binaries, one for each test executable.

use crate::Certificate;
use reqwest::Url;
use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

/// Makes a cluster, serves until its standard input ends, and leaves nothing behind. The test
/// process holds the other end of that pipe, so the cluster cannot outlive it, however it ends.
/// `fsync` is off: only our own processes are killed, never the machine. With a certificate it offers
/// TLS; whether a client uses it is the client's to decide.
const CLUSTER: &str = r#"
    set -eu
    trap '' HUP INT TERM
    bin=$1 port=$2
    dir=$(mktemp -d "${TMPDIR:-/tmp}/rolegate-postgres.XXXXXX")
    trap '"$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
    cd "$dir"
    "$bin/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1 &&
    ssl=off
    if [ -n "${CERTIFICATE-}" ]; then
        (umask 077 && echo "$CERTIFICATE" >data/server.crt && echo "$KEY" >data/server.key)
        ssl=on
    fi
    "$bin/pg_ctl" -D data -w -t 60 -l log -o "-p $port -k '$dir' -c listen_addresses=127.0.0.1 \
        -c max_connections=500 -c shared_buffers=64MB -c fsync=off -c full_page_writes=off \
        -c synchronous_commit=off -c autovacuum=off -c ssl=$ssl" start >>start 2>&1 ||
        { cat log start; exit 1; }
    echo started
    cat >/dev/null
"#;

/// The URL of a database in which others may be created.
///
/// # Panics
///
/// Without PostgreSQL: a store that is not tested must be noticed.
pub fn url() -> &'static Url {
    static SERVER: OnceLock<(Url, Option<Child>)> = OnceLock::new();
    &SERVER.get_or_init(server).0
}

fn server() -> (Url, Option<Child>) {
    if let Ok(url) = std::env::var("TEST_DATABASE_URL") {
        return (url.parse().expect("TEST_DATABASE_URL is a postgres:// URL"), None);
    }
    let (url, child) = cluster(None);
    (url, Some(child))
}

/// A cluster of a test's own, which ends with it. From the installed binaries, also where
/// `TEST_DATABASE_URL` is set: that one's TLS is not ours to choose.
#[derive(Debug)]
pub struct OwnCluster {
    url: Url,
    /// Holds the end of the pipe.
    _child: Child,
}

impl OwnCluster {
    /// With TLS by this certificate, or without.
    pub fn start(certificate: Option<&Certificate>) -> Self {
        let (url, child) = cluster(certificate);
        Self { url, _child: child }
    }

    /// What `DATABASE_URL` says to who calls it by this name, with these parameters.
    pub fn url_by(&self, host: &str, parameters: &str) -> String {
        let mut url = self.url.clone();
        url.set_host(Some(host)).expect("a host");
        url.set_query(Some(parameters));
        url.to_string()
    }
}

fn cluster(certificate: Option<&Certificate>) -> (Url, Child) {
    let bin = binaries().expect(
        "PostgreSQL is needed and was not found: tests/run installs it, or set TEST_DATABASE_URL",
    );
    // Between the choice of a free port and its use somebody else may take it.
    let mut complaints = String::new();
    for _ in 0..3 {
        match start(&bin, free_port(), certificate) {
            Ok(server) => return server,
            Err(complaint) => complaints += &complaint,
        }
    }
    panic!("PostgreSQL did not start:\n{complaints}");
}

fn start(bin: &Path, port: u16, certificate: Option<&Certificate>) -> Result<(Url, Child), String> {
    let read = |path: &Path| std::fs::read_to_string(path).expect("it was written");
    let files = certificate
        .map(|files| [("CERTIFICATE", read(&files.certificate)), ("KEY", read(&files.key))]);
    let mut child = shell()
        .envs(files.into_iter().flatten())
        .args(["-c", CLUSTER, "cluster"])
        .arg(bin)
        .arg(port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot run sh: {error}\n"))?;
    let mut said = BufReader::new(child.stdout.take().expect("its output is piped"));
    let mut first = String::new();
    let _ = said.read_line(&mut first);
    if first == "started\n" {
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        return Ok((url.parse().expect("a valid URL"), child));
    }
    let _ = said.read_to_string(&mut first);
    Err(first)
}

/// A shell that is not root: PostgreSQL refuses to be.
fn shell() -> Command {
    let is_root = Path::new("/proc/self")
        .metadata()
        .is_ok_and(|of_this_process| std::os::unix::fs::MetadataExt::uid(&of_this_process) == 0);
    if !is_root {
        return Command::new("sh");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--", "sh"]);
    command.current_dir("/");
    command
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("a bound listener").port()
}

/// The folder of `initdb`, `postgres` and `pg_ctl`; the newest where there are several.
fn binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| resolved(&folder));
    let packaged = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut packaged: Vec<_> = packaged.map(|version| version.path().join("bin")).collect();
    packaged.sort_by_key(|folder| std::cmp::Reverse(version_of(folder)));
    on_path.chain(from_pg_config()).chain(packaged).find(|folder| {
        ["initdb", "postgres", "pg_ctl"].iter().all(|name| folder.join(name).is_file())
    })
}

/// Debian-like systems link single programs into the path; the others are where the link points.
fn resolved(folder: &Path) -> PathBuf {
    let initdb = folder.join("initdb").canonicalize();
    initdb.ok().and_then(|file| Some(file.parent()?.to_owned())).unwrap_or(folder.to_owned())
}

fn from_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

fn version_of(folder: &Path) -> Option<u32> {
    folder.parent()?.file_name()?.to_str()?.parse().ok()
}
