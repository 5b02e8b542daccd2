//! Measures `GET /profile` with 1, 2, 4 … cores for the services, and other cores for PostgreSQL and wrk.
//!
//! `layout` decides which cores each of them has.

mod layout;

use crate::{
    Failure, cluster, console, cores, machine,
    noise::Noise,
    page,
    report::{self, Block, Table, thousands},
    statistics::{millis, rate, spread},
    target,
    users::{self, LoadUser},
    verify_responses::verify_responses,
    wrk::Wrk,
};
use layout::Layout;
use std::{fs, path::Path};

/// The number of connections per core of the services, which is enough for full batches with any number of cores.
const CONNECTIONS_PER_CORE: usize = 128;
const VERIFIED_USERS: usize = 500;

/// Loads the services on 1, 2, 4 … cores, and prints decisions per second and their CPU time.
#[derive(Debug, clap::Args)]
pub(crate) struct ScaleOptions {
    /// Take one round instead of five; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Write bench/results/performance-scale.md
    #[arg(long, conflicts_with = "quick")]
    write: bool,
}

/// The medians over the rounds with one layout.
struct Measured {
    layout: Layout,
    per_second: f64,
    p99_millis: f64,
    /// The CPU time per decision of gateway, auth-service, PostgreSQL and wrk, in microseconds.
    cpu: Vec<f64>,
    noise: String,
}

/// Runs the benchmark and prints the results.
pub(crate) async fn scale(options: ScaleOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let all = cores::allowed()?;
    let users = users::with_tokens()?;
    let (rounds, seconds) = if options.quick { (1, 3) } else { (5, 4) };
    let mut measured = Vec::new();
    for layout in Layout::all(&all) {
        console::progress(&layout.to_string());
        let folder = folder.path().join(layout.services.len().to_string());
        fs::create_dir(&folder)?;
        measured.push(measure(layout, &all, &users, (rounds, seconds), &folder).await?);
    }
    let how = format!(
        "GET /profile by gateway and auth-service. {CONNECTIONS_PER_CORE} connections of wrk for each core of \
         the services; {} users. {rounds} rounds of {seconds} s after one of warm-up, medians. A core is a \
         logical CPU.",
        thousands(f64::from(u32::try_from(users.len())?)),
    );
    let mut machine = machine::description(&cluster::programs()?);
    machine.extend(
        measured
            .iter()
            .map(|one| format!("{}: {}", one.layout, one.noise)),
    );
    let blocks = vec![
        Block::Heading("Decisions by cores of the services".to_owned()),
        Block::Table(table(&measured)),
        Block::Heading("Method and machine".to_owned()),
        Block::Paragraph(how),
        Block::List(machine),
    ];
    console::print(&report::plain(&blocks));
    if options.write {
        page::write(Path::new("bench/results"), "scale", None, &blocks)?;
    }
    Ok(())
}

async fn measure(
    layout: Layout,
    all: &[usize],
    users: &[LoadUser],
    (rounds, seconds): (usize, u64),
    folder: &Path,
) -> Result<Measured, Failure> {
    // Programs stay on the cores where they were started.
    cores::run_on(&layout.database)?;
    let cluster = cluster::start()?;
    let noise = Noise::start(&cluster);
    cores::run_on(&layout.services)?;
    let target = target::split(&cluster, folder).await?;
    cores::run_on(&layout.generator)?;
    verify_responses(&target, &users[..VERIFIED_USERS]).await?;

    let wrk = Wrk::new("/profile", users.iter().map(LoadUser::bearer), folder)?;
    let wrk = wrk.with_threads(layout.generator.len());
    let connections = CONNECTIONS_PER_CORE * layout.services.len();
    wrk.load(target.bearer, connections, 1).await?;
    let cpu = || target.cpu(&[cluster.pid]).into_iter().map(|(_, time)| time);
    let (mut per_second, mut p99, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let before: Vec<_> = cpu().collect();
        let seen = wrk.load(target.bearer, connections, seconds).await?;
        let used = cpu()
            .zip(before)
            .map(|(now, then)| now.saturating_sub(then));
        let used = used.chain([seen.own_cpu]);
        per_second.push(rate(seen.requests, seen.time));
        p99.push(millis(seen.p99));
        costs.push(
            used.map(|time| 1.0 / rate(seen.requests, time) * 1e6)
                .collect::<Vec<f64>>(),
        );
    }
    cores::run_on(all)?;
    let programs = 0..costs.first().map_or(0, Vec::len);
    let cost = |program: usize| spread(costs.iter().map(|costs| costs[program])).median;
    Ok(Measured {
        layout,
        per_second: spread(per_second).median,
        p99_millis: spread(p99).median,
        cpu: programs.map(cost).collect(),
        noise: noise.report(&cluster),
    })
}

fn table(measured: &[Measured]) -> Table {
    let first = measured.first().map_or(f64::NAN, |first| first.per_second);
    let row = |one: &Measured| {
        let mut row = vec![
            one.layout.services.len().to_string(),
            one.layout.shared().to_owned(),
        ];
        row.push(thousands(one.per_second));
        row.push(format!("{:.2}×", one.per_second / first));
        row.push(format!("{:.1}", one.p99_millis));
        row.extend(one.cpu.iter().map(|micros| format!("{micros:.1}")));
        row
    };
    Table {
        head: vec![
            "Cores of the services",
            "Shared cores",
            "decisions/s",
            "to the first",
            "p99 ms",
            "gateway µs",
            "auth-service µs",
            "PostgreSQL µs",
            "wrk µs",
        ],
        rows: measured.iter().map(row).collect(),
    }
}
