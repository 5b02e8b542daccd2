//! Loads the same PostgreSQL without a service, with `pgbench -S -M prepared`.

use crate::{Failure, cluster::Cluster};
use std::num::NonZero;
use tokio::process::Command;

const DATABASE: &str = "pgbench";

/// Creates pgbench's tables with 100,000 accounts.
pub(crate) async fn prepare(cluster: &Cluster) -> Result<(), Failure> {
    run(
        cluster,
        "psql",
        &["-q", "-c", "CREATE DATABASE pgbench", "postgres"],
    )
    .await?;
    run(cluster, "pgbench", &["-i", "-q", "-s", "1", DATABASE])
        .await
        .map(drop)
}

/// Returns the transactions per second over TCP. Each transaction reads one row by its key.
pub(crate) async fn transactions_per_second(
    cluster: &Cluster,
    clients: usize,
    seconds: u64,
) -> Result<f64, Failure> {
    let threads = std::thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(clients);
    let (clients, threads, seconds) = (
        clients.to_string(),
        threads.to_string(),
        seconds.to_string(),
    );
    let arguments = [
        "-n", "-S", "-M", "prepared", "-c", &clients, "-j", &threads, "-T", &seconds, DATABASE,
    ];
    let output = run(cluster, "pgbench", &arguments).await?;
    let rate = output
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
    Ok(rate.ok_or("no tps in the output of pgbench")?.parse()?)
}

async fn run(cluster: &Cluster, program: &str, arguments: &[&str]) -> Result<String, Failure> {
    let output = Command::new(cluster.programs.join(program))
        .args([
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &cluster.port.to_string(),
        ])
        .args(arguments)
        .kill_on_drop(true)
        .output()
        .await?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!(
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    )
    .into())
}
