//! The services against the yardstick, by turns.
//!
//! - `bench`: everything that is measured, started and ready; `turn`: who is loaded when.
//! - `results`: what was measured and what must be reached; `tables`, `chart`: how it is shown.

mod bench;
mod chart;
mod results;
mod tables;
mod turn;

use crate::{Failure, check_answers::check_answers, console, machine, noise::Noise, report, usage};
use bench::{Bench, Contender};
use results::Results;
use std::path::PathBuf;
use turn::{Heat, Pace};

/// Some nine minutes.
const LONG: Pace = Pace { rounds: 6, seconds: 3, warm_up_seconds: 1 };
/// About a minute.
const QUICK: Pace = Pace { rounds: 2, seconds: 1, warm_up_seconds: 0 };

/// Loads the services and the yardstick by turns, and prints a table.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareOptions {
    /// About a minute instead of nine: to see that it works, not to quote
    #[arg(long)]
    quick: bool,
    /// Write docs/performance-table.md and docs/performance.svg
    #[arg(long)]
    write: bool,
    /// Write the table as Markdown into this file
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Write the chart as SVG into this file
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
}

/// Measures, prints, writes.
pub(crate) async fn compare(options: CompareOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::note("starting PostgreSQL and the programs");
    let bench = Bench::prepare(folder.path()).await?;
    let noise = Noise::listen(&bench.cluster);
    let pace = if options.quick { QUICK } else { LONG };
    let results = measure(&bench, pace, options.quick).await?;

    let mut machine = machine::description(&bench.cluster.programs);
    let on_what = machine.first().cloned().unwrap_or_default();
    machine.push(noise.told(&bench.cluster));
    let blocks = tables::report(&results, pace, machine);
    console::say(&report::plain(&blocks));
    let by_default = |file: &str| options.write.then(|| PathBuf::from(file));
    if let Some(file) = options.table.or_else(|| by_default("docs/performance-table.md")) {
        report::write(&file, &report::markdown(&blocks))?;
    }
    if let Some(file) = options.chart.or_else(|| by_default("docs/performance.svg")) {
        report::write(&file, &chart::chart(&results.profile, &on_what))?;
    }
    Ok(())
}

async fn measure(bench: &Bench, pace: Pace, quick: bool) -> Result<Results, Failure> {
    let mut answers_checked = 0;
    let some = if quick { bench.users.len() / 5 } else { bench.users.len() };
    for subject in &bench.subjects {
        console::note(&format!("checking the answers of {}", subject.name));
        answers_checked += check_answers(subject, &bench.users[..some]).await?;
    }

    let everybody: Vec<_> = (0..bench.subjects.len()).map(Contender::Profile).collect();
    let mut profile = Vec::new();
    for connections in [1, 32, 128] {
        profile.push(Heat::run(bench, &everybody, connections, pace).await?);
    }
    let both = [Contender::Authorizations, Contender::Pgbench];
    let mut decisions = Vec::new();
    for callers in [32, 128] {
        decisions.push(Heat::run(bench, &both, callers, pace).await?);
    }
    let basic = if bench.warm_basic().await? {
        let split = bench.subjects.iter().position(|one| one.name == crate::subject::SPLIT);
        let both = [Contender::Profile(split.unwrap_or_default()), Contender::Basic];
        Some(Heat::run(bench, &both, 128, pace).await?)
    } else {
        None
    };
    let programs = bench.split()?.programs.iter();
    let peak_memory = programs
        .map(|program| Ok((program.name, usage::peak_memory(program.pid)?)))
        .collect::<Result<_, Failure>>()?;
    Ok(Results { profile, decisions, basic, peak_memory, answers_checked })
}
