//! What a flood of logins does to everybody else. Open loop: requests arrive when they arrive.
//!
//! - `clients`, `connections`: the people and their connections; `open_loop`: when they come.
//! - `logins`: what logins cost at rest; `processors`: who used the processors meanwhile.
//! - `results`: what was measured and what must be reached.

mod clients;
mod connections;
mod logins;
mod open_loop;
mod processors;
mod results;

use crate::{Failure, cluster, console, machine, noise::Noise, report, subject, usage, users};
use clients::Clients;
use logins::{capacity, logins_per_second, lone};
use open_loop::open_loop;
use processors::Processors;
use results::Results;
use std::{path::PathBuf, time::Duration};

const PROFILES_PER_SECOND: f64 = 200.0;
const PROFILE_USERS: usize = 1000;
/// Times the capacity.
const FLOOD: f64 = 10.0;

/// Asks for profiles while logins arrive at ten times what can be done, and prints a table.
#[derive(Debug, clap::Args)]
pub(crate) struct FloodOptions {
    /// A minute instead of three: to see that it works, not to quote
    #[arg(long)]
    quick: bool,
    /// Write docs/performance-flood.md
    #[arg(long)]
    write: bool,
    /// Write the table as Markdown into this file
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// Measures, prints, writes.
pub(crate) async fn flood(options: FloodOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::note("starting PostgreSQL, auth-service and gateway");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    // Declared after the cluster, so that it is dropped before.
    let split = subject::split(&cluster, folder.path()).await?;
    let clients = Clients::new(users, split.bearer);
    let seconds = |long, quick| Duration::from_secs(if options.quick { quick } else { long });

    let noise = Noise::listen(&cluster);
    console::note("lone logins");
    let lone = lone(&clients, if options.quick { 4 } else { 20 }).await?;
    let time = seconds(30, 10);
    let profiles = async |clients: &Clients| {
        let request = |number| clients.clone().profile(number, PROFILE_USERS);
        open_loop(PROFILES_PER_SECOND, time, request).await
    };
    console::note("calm: /profile alone");
    let before = Processors::used(&cluster, &split);
    let calm = profiles(&clients).await?;
    let calm_processors = Processors::used(&cluster, &split).since(&before, time);

    let mut at_rest = Vec::new();
    for program in &split.programs {
        usage::forget_peak_memory(program.pid)?;
        at_rest.push(usage::memory(program.pid)?);
    }
    console::note("capacity: logins and the engine alone, closed loop");
    let turns = if options.quick { 1 } else { 4 };
    let capacity = capacity(&clients, turns, seconds(8, 4)).await?;
    console::note("capacity beside /profile");
    let (beside, _) = tokio::try_join!(logins_per_second(&clients, time), profiles(&clients),)?;
    let arrivals = FLOOD * capacity.logins.median;
    console::note(&format!("flood: {arrivals:.0} logins/s of {:.1}", capacity.logins.median));
    let logins = open_loop(arrivals, time, |number| clients.clone().log_in(number));
    let before = Processors::used(&cluster, &split);
    let processors = async {
        tokio::time::sleep(time).await;
        Ok(Processors::used(&cluster, &split).since(&before, time))
    };
    let (flooded, logins, flood_processors) =
        tokio::try_join!(profiles(&clients), logins, processors)?;
    let growth = split.programs.iter().zip(at_rest).map(|(program, before)| {
        Ok((program.name, usage::peak_memory(program.pid)?.saturating_sub(before)))
    });
    let growth = growth.collect::<Result<_, Failure>>()?;

    let results = Results {
        lone,
        capacity,
        capacity_beside_profiles: beside,
        calm,
        calm_processors,
        flooded,
        flood_processors,
        logins,
        time,
        growth,
    };
    let how = format!(
        "Open loop, latency from the time at which a request was due. {PROFILES_PER_SECOND} \
         /profile a second from {PROFILE_USERS} users for {0} s, calm; then the same for {0} s \
         with logins at {FLOOD} times capacity, with right passwords from a thousand addresses, \
         LOGIN_FAILURE_LIMIT=0. Capacity: {1} clients, closed loop, in \
         turns with the engine alone under the same load; then {0} s beside the same /profile. Logins \
         per second count from the first end on. Growth of memory: from rest to the peak. Each \
         program has a session of its own. The load generator runs on the same machine.",
        time.as_secs(),
        logins::CLOSED_LOOP_CLIENTS,
    );
    let mut machine = machine::description(&cluster.programs);
    machine.push(noise.told(&cluster));
    let blocks = results.report(how, machine);
    console::say(&report::plain(&blocks));
    let by_default = options.write.then(|| PathBuf::from("docs/performance-flood.md"));
    if let Some(file) = options.table.or(by_default) {
        report::write(&file, &report::markdown(&blocks))?;
    }
    Ok(())
}
