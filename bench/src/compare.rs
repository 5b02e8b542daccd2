//! Compares the services with the baseline in alternating rounds.
//!
//! - `bench` starts the systems under test. `comparison` loads them alternately, and `round` holds the measurements of
//!   each round.
//! - `results` holds all measurements and compares them with the marks. `tables` and `chart` show them.

mod bench;
mod chart;
mod comparison;
mod results;
mod round;
mod tables;

use crate::{
    Failure, console, machine, noise::Noise, page, report, usage,
    verify_responses::verify_responses,
};
use bench::{Bench, Contender};
use comparison::Comparison;
use results::Results;
use round::Schedule;
use std::path::{Path, PathBuf};

/// The schedule of about nine minutes.
const LONG: Schedule = Schedule {
    rounds: 6,
    seconds: 3,
    warm_up_seconds: 1,
};
/// The schedule of about a minute, with `--quick`.
const QUICK: Schedule = Schedule {
    rounds: 2,
    seconds: 1,
    warm_up_seconds: 0,
};

/// Loads the services and the baseline alternately, and prints a table.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareOptions {
    /// Take about a minute instead of nine; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Write bench/results/performance.md and docs/performance.svg
    #[arg(long)]
    write: bool,
    /// Write the table as Markdown to this file
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Write the chart as SVG to this file
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
}

/// Runs the benchmark and writes the report.
pub(crate) async fn compare(options: CompareOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL and the programs");
    let bench = Bench::prepare(folder.path()).await?;
    let noise = Noise::start(&bench.cluster);
    let schedule = if options.quick { QUICK } else { LONG };
    let results = measure(&bench, schedule, options.quick).await?;

    let mut machine = machine::description(&bench.cluster.programs);
    let hardware = machine.first().cloned().unwrap_or_default();
    machine.push(noise.report(&bench.cluster));
    let blocks = tables::report(&results, schedule, machine);
    console::print(&report::plain(&blocks));
    let table = report::markdown(&blocks);
    if let Some(file) = options.table {
        report::write(&file, &table)?;
    } else if options.write {
        let page = [page::measured("bench/run --write"), table].join("\n\n");
        report::write(Path::new("bench/results/performance.md"), &page)?;
    }
    let by_default = options.write.then(|| PathBuf::from("docs/performance.svg"));
    if let Some(file) = options.chart.or(by_default) {
        report::write(&file, &chart::chart(&results.profile, &hardware).svg())?;
    }
    Ok(())
}

async fn measure(bench: &Bench, schedule: Schedule, quick: bool) -> Result<Results, Failure> {
    let mut verified_responses = 0;
    let some = if quick {
        bench.users.len() / 5
    } else {
        bench.users.len()
    };
    for target in &bench.targets {
        console::progress(&format!("verifying the responses of {}", target.name));
        verified_responses += verify_responses(target, &bench.users[..some]).await?;
    }

    let all: Vec<_> = (0..bench.targets.len()).map(Contender::Profile).collect();
    let mut profile = Vec::new();
    for connections in [1, 32, 128] {
        profile.push(Comparison::run(bench, &all, connections, schedule).await?);
    }
    let both = [Contender::Authorizations, Contender::Pgbench];
    let mut decisions = Vec::new();
    for callers in [32, 128] {
        decisions.push(Comparison::run(bench, &both, callers, schedule).await?);
    }
    let both = [Contender::Reads(0), Contender::Reads(1)];
    let reads = Comparison::run(bench, &both, 128, schedule).await?;
    let basic = if bench.warm_basic().await? {
        let split = bench
            .targets
            .iter()
            .position(|one| one.name == crate::target::SPLIT);
        let both = [
            Contender::Profile(split.unwrap_or_default()),
            Contender::Basic,
        ];
        Some(Comparison::run(bench, &both, 128, schedule).await?)
    } else {
        None
    };
    let programs = bench.split()?.programs.iter();
    let peak_memory = programs
        .map(|program| Ok((program.name, usage::peak_memory(program.pid)?)))
        .collect::<Result<_, Failure>>()?;
    Ok(Results {
        profile,
        decisions,
        reads,
        basic,
        peak_memory,
        verified_responses,
    })
}
