//! Load over HTTP by wrk, a program that costs little itself.

use crate::{Failure, usage};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::process::Command;

const SCRIPT: &str = include_str!("wrk.lua");

/// `GET` of one path with `Authorization` headers picked at random, or of paths picked at random.
#[derive(Debug)]
pub(crate) struct Wrk {
    script: PathBuf,
    headers: PathBuf,
    path: &'static str,
}

/// What wrk has seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) time: Duration,
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
    /// The processor time of wrk itself.
    pub(crate) own_cpu: Duration,
}

impl Wrk {
    /// Prepares load on this path, or on those that stand in place of headers; what wrk reads is
    /// written into `folder`.
    pub(crate) fn new(
        path: &'static str,
        headers: impl Iterator<Item = String>,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let script = folder.join("wrk.lua");
        std::fs::write(&script, SCRIPT)?;
        let file = folder.join(format!("{}.headers", path.trim_matches('/')));
        std::fs::write(&file, headers.collect::<Vec<_>>().join("\n"))?;
        Ok(Self { script, headers: file, path })
    }

    /// Loads. Fails when any answer is not a success: what is counted must have been served.
    pub(crate) async fn load(
        &self,
        address: SocketAddr,
        connections: usize,
        seconds: u64,
    ) -> Result<Seen, Failure> {
        let before = usage::cpu_of_ended_children();
        let output = Command::new("wrk")
            .args(["--threads", "1", "--timeout", "10s"])
            .arg(format!("--connections={connections}"))
            .arg(format!("--duration={seconds}s"))
            .arg("--script")
            .arg(&self.script)
            .arg(format!("http://{address}{}", self.path))
            .arg("--")
            .arg(&self.headers)
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| format!("cannot run wrk ({error}); tests/load/run installs it"))?;
        let own_cpu = usage::cpu_of_ended_children().saturating_sub(before);
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Option<Vec<u64>> = text.lines().find_map(|line| {
            line.strip_prefix("RESULT ")?.split(' ').map(|word| word.parse().ok()).collect()
        });
        let Some(&[requests, time, median, p99, 0, 0]) = numbers.as_deref() else {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("wrk on {address}{}: {text}{errors}", self.path).into());
        };
        Ok(Seen {
            requests,
            time: Duration::from_micros(time),
            median: Duration::from_micros(median),
            p99: Duration::from_micros(p99),
            own_cpu,
        })
    }
}
