//! Compares the services with software that could be chosen instead: FastAPI and better-auth.
//!
//! Both are installed from packages, with accounts as their documentation shows. `bench/peers/` has their code and the
//! versions.
//!
//! - `install` installs their packages, and `peer` starts each system with its users.
//! - `check` verifies their responses, and `load` requests profiles and logs in.
//! - `results` makes the tables and the chart.

mod check;
mod install;
mod load;
mod peer;
mod results;

use crate::{
    Failure, cluster, console, machine,
    noise::Noise,
    page,
    report::{self, Block, thousands},
    users,
};
use results::Results;
use std::{path::Path, thread::available_parallelism};

/// The numbers of connections. The largest comes first, so that a process with a long warm-up has finished it before
/// the others are measured.
const CONNECTIONS: [usize; 3] = [128, 32, 1];

/// Installs and loads the alternatives and the services alternately, and prints a table.
#[derive(Debug, clap::Args)]
pub(crate) struct PeersOptions {
    /// Take about a minute instead of four; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Write bench/results/performance-peers.md and its chart
    #[arg(long, conflicts_with = "quick")]
    write: bool,
}

/// Runs the benchmark and prints the results.
#[expect(
    clippy::too_many_lines,
    reason = "the steps of one measurement, in order"
)]
pub(crate) async fn peers(options: PeersOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let packages = install::install().await?;
    console::progress("starting PostgreSQL and the systems");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    let peers = [
        peer::services(&cluster, &users, folder.path()).await?,
        peer::fastapi(&cluster, &packages, &users, folder.path()).await?,
        peer::better_auth(&cluster, &packages, folder.path()).await?,
    ];
    for peer in &peers {
        console::progress(&format!("checking the responses of {}", peer.name));
        check::check(peer, &users)
            .await
            .map_err(|wrong| format!("{}: {wrong}", peer.name))?;
    }

    let noise = Noise::start(&cluster);
    let (rounds, seconds, login_seconds) = if options.quick { (1, 2, 4) } else { (4, 3, 6) };
    let mut profiles = Vec::new();
    for connections in CONNECTIONS {
        console::progress(&format!("{connections} connections"));
        profiles.push(load::profiles(&peers, connections, (rounds, seconds)).await?);
    }
    console::progress("logins");
    let logins = load::logins(&peers, &users, rounds.div_ceil(2), login_seconds).await?;
    let results = Results {
        names: peers.each_ref().map(|peer| peer.name),
        profiles,
        logins,
    };

    let how = format!(
        "{} users and tokens in each database. {rounds} alternating rounds (A B C C B A) of {seconds} s, medians; \
         logins from {} connections. FastAPI and better-auth run {} processes each, one for each core, with 10 \
         connections to PostgreSQL each. bcrypt of cost 12 for all: BCRYPT_COST of auth-service, rounds of pwdlib, \
         bcrypt of npm in place of scrypt. No limit of attempts.",
        thousands(f64::from(u32::try_from(users.len())?)),
        load::LOGIN_CONNECTIONS,
        available_parallelism().map_or(1, usize::from),
    );
    let mut machine = machine::description(&cluster.programs);
    let hardware = machine.first().cloned().unwrap_or_default();
    machine.extend(install::versions());
    machine.push(noise.report(&cluster));
    let blocks = vec![
        Block::Heading("GET /profile and logins".to_owned()),
        Block::Table(results.table()),
        Block::Heading("Method and machine".to_owned()),
        Block::Paragraph(how),
        Block::List(machine),
    ];
    console::print(&report::plain(&blocks));
    if options.write {
        page::write(
            Path::new("bench/results"),
            "peers",
            Some(&results.chart(&hardware)),
            &blocks,
        )?;
    }
    Ok(())
}
