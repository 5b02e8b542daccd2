//! Generates HTTP load with wrk, which needs little CPU time itself.

use crate::{Failure, usage};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::process::Command;

const SCRIPT: &str = include_str!("wrk.lua");

/// A load of `GET` requests for one path with random `Authorization` headers, or for random paths.
#[derive(Debug)]
pub(crate) struct Wrk {
    script: PathBuf,
    headers: PathBuf,
    path: &'static str,
    threads: usize,
}

/// The results of wrk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrkResult {
    pub(crate) requests: u64,
    pub(crate) time: Duration,
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
    /// The CPU time of wrk itself.
    pub(crate) own_cpu: Duration,
}

impl Wrk {
    /// Prepares load on this path with these headers, or on the paths that are given in place of headers.
    ///
    /// The input files of wrk go to `folder`.
    pub(crate) fn new(
        path: &'static str,
        headers: impl Iterator<Item = String>,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let script = folder.join("wrk.lua");
        std::fs::write(&script, SCRIPT)?;
        let file = folder.join(format!("{}.headers", path.trim_matches('/')));
        std::fs::write(&file, headers.collect::<Vec<_>>().join("\n"))?;
        Ok(Self {
            script,
            headers: file,
            path,
            threads: 1,
        })
    }

    /// Uses this number of threads of wrk instead of one.
    pub(crate) fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Runs wrk. Returns an error if any response is not a success.
    pub(crate) async fn load(
        &self,
        address: SocketAddr,
        connections: usize,
        seconds: u64,
    ) -> Result<WrkResult, Failure> {
        let before = usage::cpu_of_ended_children();
        let output = Command::new("wrk")
            .args(["--timeout", "10s"])
            .arg(format!("--threads={}", self.threads))
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
            .map_err(|error| format!("cannot run wrk ({error}); bench/run installs it"))?;
        let own_cpu = usage::cpu_of_ended_children().saturating_sub(before);
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Option<Vec<u64>> = text.lines().find_map(|line| {
            line.strip_prefix("RESULT ")?
                .split(' ')
                .map(|word| word.parse().ok())
                .collect()
        });
        let Some(&[requests, time, median, p99, 0, 0]) = numbers.as_deref() else {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("wrk on {address}{}: {text}{errors}", self.path).into());
        };
        Ok(WrkResult {
            requests,
            time: Duration::from_micros(time),
            median: Duration::from_micros(median),
            p99: Duration::from_micros(p99),
            own_cpu,
        })
    }
}
