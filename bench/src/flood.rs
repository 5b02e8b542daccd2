//! Measures the effect of a login flood on other requests, with open-loop load.
//!
//! - `closed` does the same with a closed loop. `new_names` measures correct logins beside a flood of new names.
//! - `clients` has the users, and `connections` their connections.
//! - `logins` measures the capacity of logins without a flood, and `cpu_usage` the CPU time of each program.
//! - `results` holds the measurements and compares them with the marks.

mod clients;
mod closed;
mod connections;
mod cpu_usage;
mod logins;
mod new_names;
mod results;

use crate::{
    Failure, cluster, console, machine, noise::Noise, open_loop::open_loop, page, report, target,
    usage, users,
};
use clients::Clients;
use cpu_usage::CpuUsage;
use http::StatusCode;
use logins::{capacity, logins_per_second, lone};
use results::Results;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

const PROFILES_PER_SECOND: f64 = 200.0;
const PROFILE_USERS: usize = 1000;
/// The arrival rate of logins as a multiple of the capacity.
const FLOOD_FACTOR: f64 = 10.0;

/// Requests profiles during a login flood of ten times the capacity, and prints a table.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command")]
pub(crate) struct FloodOptions {
    /// Take one minute instead of three; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Log in as fast as answers come, instead of at a constant rate; ten rounds in three minutes
    #[arg(long, conflicts_with_all = ["write", "table"])]
    closed: bool,
    /// Measure correct logins beside a flood of new names from one address instead, in three minutes
    #[arg(long, conflicts_with_all = ["closed", "write", "table"])]
    new_names: bool,
    /// Write bench/results/performance-flood.md
    #[arg(long)]
    write: bool,
    /// Write the table as Markdown to this file
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// Runs the benchmark and writes the report.
#[expect(
    clippy::too_many_lines,
    reason = "the steps of one measurement, in order"
)]
pub(crate) async fn flood(options: FloodOptions) -> Result<(), Failure> {
    if options.closed {
        let (rounds, seconds) = if options.quick { (3, 4) } else { (10, 6) };
        return closed::closed(rounds, seconds).await;
    }
    if options.new_names {
        return new_names::new_names(if options.quick { 1 } else { 5 }).await;
    }
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL, auth-service and gateway");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    // `split` is declared after `cluster`, so that the programs end before PostgreSQL does.
    let split = target::split(&cluster, folder.path()).await?;
    let clients = Clients::new(users, split.bearer);
    let seconds = |long, quick| Duration::from_secs(if options.quick { quick } else { long });

    let noise = Noise::start(&cluster);
    console::progress("lone logins");
    let lone = lone(&clients, if options.quick { 4 } else { 20 }).await?;
    let time = seconds(30, 10);
    let profiles = async |clients: &Clients| {
        let request = |number| status(clients.clone().profile(number, PROFILE_USERS));
        open_loop(PROFILES_PER_SECOND, time, request).await
    };
    console::progress("calm: /profile alone");
    let before = CpuUsage::used(&cluster, &split);
    let calm = profiles(&clients).await?;
    let calm_cpu_usage = CpuUsage::used(&cluster, &split).since(&before, time);

    let mut idle_memory = Vec::new();
    for program in &split.programs {
        usage::reset_peak_memory(program.pid)?;
        idle_memory.push(usage::memory(program.pid)?);
    }
    console::progress("capacity: logins and the engine alone, closed loop");
    let rounds = if options.quick { 1 } else { 4 };
    let capacity = capacity(&clients, rounds, seconds(8, 4)).await?;
    console::progress("capacity beside /profile");
    let (beside, _) = tokio::try_join!(logins_per_second(&clients, time), profiles(&clients),)?;
    let arrivals = FLOOD_FACTOR * capacity.logins.median;
    console::progress(&format!(
        "flood: {arrivals:.0} logins/s of {:.1}",
        capacity.logins.median
    ));
    let logins = open_loop(arrivals, time, |number| {
        status(clients.clone().log_in(number))
    });
    let before = CpuUsage::used(&cluster, &split);
    let cpu_usage = async {
        tokio::time::sleep(time).await;
        Ok(CpuUsage::used(&cluster, &split).since(&before, time))
    };
    let (flooded, logins, flood_cpu_usage) =
        tokio::try_join!(profiles(&clients), logins, cpu_usage)?;
    let growth = split
        .programs
        .iter()
        .zip(idle_memory)
        .map(|(program, before)| {
            Ok((
                program.name,
                usage::peak_memory(program.pid)?.saturating_sub(before),
            ))
        });
    let growth = growth.collect::<Result<_, Failure>>()?;

    let results = Results {
        lone,
        capacity,
        capacity_beside_profiles: beside,
        calm,
        calm_cpu_usage,
        flooded,
        flood_cpu_usage,
        logins,
        time,
        growth,
    };
    let how = format!(
        "Open loop; latency counts from the time a request was due. {PROFILES_PER_SECOND} /profile per \
         second from {PROFILE_USERS} users for {0} s without logins, then for {0} s with logins at \
         {FLOOD_FACTOR} times the capacity, with correct passwords from a thousand addresses and \
         LOGIN_FAILURE_LIMIT=0. Capacity: {1} clients in a closed loop, alternating with the engine \
         alone under the same load, then for {0} s beside the same /profile. Logins per second count \
         from the first completion. Memory growth is from idle to peak. Each program has its own \
         session. The load generator runs on the same machine.",
        time.as_secs(),
        logins::CLOSED_LOOP_CLIENTS,
    );
    let mut machine = machine::description(&cluster.programs);
    machine.push(noise.report(&cluster));
    let blocks = results.report(how, machine);
    console::print(&report::plain(&blocks));
    if let Some(file) = options.table {
        report::write(&file, &report::markdown(&blocks))?;
    } else if options.write {
        page::write(Path::new("bench/results"), "flood", None, &blocks)?;
    }
    Ok(())
}

/// Returns the status of a response, or `None` if there was no response.
async fn status(request: impl Future<Output = Result<StatusCode, Failure>>) -> Option<StatusCode> {
    request.await.ok()
}
