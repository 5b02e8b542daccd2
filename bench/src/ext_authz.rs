//! Measures checks of Envoy at auth-service: their latency at a constant rate, and their throughput relative to
//! `Authorize`.
//!
//! The latency of a check is measured from the time at which it was due, even if it was sent later. So a stall counts
//! for every check that it delays, as users would see it.
//!
//! `load` sends checks at a constant rate and in a closed loop. `encoded` makes calls with encoded messages.

mod encoded;
mod load;

use crate::{
    Failure,
    chart::{Bar, Chart, GREY, Group},
    cluster, console, machine,
    noise::Noise,
    page,
    report::{self, Block, Table, thousands},
    services,
    statistics::{mebibytes, millis, per_mille},
    usage, users,
    verdict::{self, Mark, Verdict},
};
use load::{CALLERS, Calls, RATE, closed_loop, constant_rate};
use std::{path::Path, time::Duration};
use tonic::transport::Endpoint;

const CONNECTIONS: usize = 8;
/// The mark for the 99th percentile of the latency, in milliseconds.
const MAX_P99: f64 = 5.0;
/// The mark for the 99.9th percentile of the latency, in milliseconds.
const MAX_P999: f64 = 20.0;
/// The mark for the throughput of checks, as a share of that of `Authorize`.
const MIN_THROUGHPUT: f64 = 0.8;

/// Sends checks at a constant rate, then as fast as they are answered, and prints the results.
#[derive(Debug, clap::Args)]
pub(crate) struct ExtAuthzOptions {
    /// Take a quarter of the time; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Write bench/results/performance-ext-authz.md and its chart
    #[arg(long, conflicts_with = "quick")]
    write: bool,
}

/// Runs the benchmark and prints the results.
#[expect(
    clippy::too_many_lines,
    reason = "the steps of one measurement, in order"
)]
pub(crate) async fn ext_authz(options: ExtAuthzOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL and auth-service");
    let users = users::with_tokens()?;
    let (checks, decisions) = (Calls::checks(&users), Calls::authorizations(&users));
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    let auth = services::auth_service(&url, folder.path()).await?;
    users::insert_into_postgresql(&url).await?;
    let endpoint = Endpoint::from_shared(format!("http://{}", auth.address("grpc")?))?;
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(endpoint.connect().await?);
    }
    let noise = Noise::start(&cluster);

    let seconds = if options.quick { 15 } else { 60 };
    constant_rate(&channels, &checks, 2).await?;
    usage::reset_peak_memory(auth.pid)?;
    let mut latencies = constant_rate(&channels, &checks, seconds).await?;
    latencies.sort_unstable();
    let memory = mebibytes(usage::peak_memory(auth.pid)?);
    let time = Duration::from_secs(if options.quick { 2 } else { 8 });
    let authorize = async || closed_loop(&channels, &decisions, time).await;
    let check = async || closed_loop(&channels, &checks, time).await;
    authorize().await?;
    check().await?;
    // The order is A B B A, so that drift of the machine affects both equally.
    let (authorize_1, check_1) = (authorize().await?, check().await?);
    let (check_2, authorize_2) = (check().await?, authorize().await?);
    let (checks, decisions) = (
        f64::midpoint(check_1, check_2),
        f64::midpoint(authorize_1, authorize_2),
    );
    let results = Results {
        latencies,
        memory,
        checks,
        decisions,
    };
    let how = format!(
        "{} checks per second on {CONNECTIONS} connections for {seconds} seconds, each timed from when \
         it was due, so that a stall counts for every check that it delays; messages are encoded \
         beforehand. Then {CALLERS} callers that wait for each answer, Check and Authorize in turns \
         (A B B A).",
        thousands(RATE),
    );
    let mut machine = machine::description(&cluster.programs);
    let hardware = machine.first().cloned().unwrap_or_default();
    machine.push(noise.report(&cluster));
    let blocks = results.report(how, machine);
    console::print(&report::plain(&blocks));
    if options.write {
        let chart = results.chart(&hardware);
        page::write(
            Path::new("bench/results"),
            "ext-authz",
            Some(&chart),
            &blocks,
        )?;
    }
    Ok(())
}

struct Results {
    /// The latency of each check from the time when it was due, sorted.
    latencies: Vec<Duration>,
    /// The peak memory of auth-service, in MiB.
    memory: f64,
    /// The number of checks per second in a closed loop.
    checks: f64,
    /// The number of `Authorize` per second in a closed loop.
    decisions: f64,
}

impl Results {
    /// Returns the latency at this per mille of the checks, in milliseconds.
    fn latency_ms(&self, rank: usize) -> f64 {
        millis(per_mille(&self.latencies, rank))
    }

    fn verdicts(&self) -> [Verdict; 4] {
        let rate = "of checks at a constant rate";
        let once = |claim: &str, value, mark, unit| Verdict::once(claim, value, mark, unit);
        [
            once(
                &format!("p99 {rate}"),
                self.latency_ms(990),
                Mark::AtMost(MAX_P99),
                " ms",
            ),
            once(
                &format!("p99.9 {rate}"),
                self.latency_ms(999),
                Mark::AtMost(MAX_P999),
                " ms",
            ),
            once(
                "peak memory of auth-service",
                self.memory,
                Mark::AtMost(40.0),
                " MiB",
            ),
            once(
                "Check / Authorize",
                self.checks / self.decisions,
                Mark::AtLeast(MIN_THROUGHPUT),
                "×",
            ),
        ]
    }

    fn report(&self, how: String, machine: Vec<String>) -> Vec<Block> {
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let figures = Table {
            head: vec!["What", "Measured"],
            rows: vec![
                row(
                    "checks at a constant rate, median",
                    format!("{:.2} ms", self.latency_ms(500)),
                ),
                row(
                    "checks at a constant rate, longest",
                    format!("{:.2} ms", self.latency_ms(1000)),
                ),
                row(
                    "Check per second, as fast as answered",
                    thousands(self.checks),
                ),
                row(
                    "Authorize per second, as fast as answered",
                    thousands(self.decisions),
                ),
            ],
        };
        vec![
            Block::Heading("Marks for checks of Envoy".to_owned()),
            Block::Table(verdict::table(&self.verdicts())),
            Block::Heading("Figures".to_owned()),
            Block::Table(figures),
            Block::Heading("Method and machine".to_owned()),
            Block::Paragraph(how),
            Block::List(machine),
        ]
    }

    fn chart(&self, machine: &str) -> Chart {
        let latency = |name: &str, rank, mark| {
            let value = self.latency_ms(rank);
            Bar {
                mark,
                ..Bar::once(name, value, format!("{value:.1} ms"))
            }
        };
        let speed = |name: &str, value| Bar::once(name, value, thousands(value));
        let latencies = Group {
            title: format!(
                "{} checks per second, from when each was due",
                thousands(RATE)
            ),
            unit: "ms",
            bars: vec![
                latency("median", 500, None),
                latency("p99", 990, Some(MAX_P99)),
                latency("p99.9", 999, Some(MAX_P999)),
                latency("longest", 1000, None),
            ],
        };
        let speeds = Group {
            title: format!("{CALLERS} callers that wait for each answer, per second"),
            unit: "per second",
            bars: vec![
                Bar {
                    colour: GREY,
                    ..speed("Authorize", self.decisions)
                },
                Bar {
                    mark: Some(MIN_THROUGHPUT * self.decisions),
                    ..speed("Check", self.checks)
                },
            ],
        };
        Chart {
            title: "Checks of Envoy at auth-service".to_owned(),
            label: "Latency and throughput of checks of Envoy".to_owned(),
            groups: vec![latencies, speeds],
            footer: format!(
                "Red lines are the marks. {machine}; load generator and PostgreSQL on the same machine."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Results;
    use crate::report;
    use std::time::Duration;

    #[test]
    fn the_page_and_the_chart_show_the_same_measurements() {
        let latencies = (1..=10_000).map(Duration::from_micros).collect();
        let results = Results {
            latencies,
            memory: 20.0,
            checks: 9000.0,
            decisions: 10_000.0,
        };
        let page = report::markdown(&results.report("how".to_owned(), vec!["machine".to_owned()]));
        for row in [
            "| p99 of checks at a constant rate | 9.90 ms |  | ≤ 5.00 ms | missed |",
            "| p99.9 of checks at a constant rate | 9.99 ms |  | ≤ 20.00 ms | reached |",
            "| peak memory of auth-service | 20.00 MiB |  | ≤ 40.00 MiB | reached |",
            "| Check / Authorize | 0.90× |  | ≥ 0.8× | reached |",
            "| checks at a constant rate, median | 5.00 ms |",
        ] {
            assert!(page.contains(row), "{row} is not in {page}");
        }
        let svg = results.chart("machine").svg();
        for text in ["5.0 ms", "9.9 ms", "10.0 ms", "9,000", "10,000"] {
            assert!(
                svg.contains(&format!(">{text}</text>")),
                "{text} is not in {svg}"
            );
        }
        assert_eq!(svg.matches("class=\"mark\"").count(), 3, "{svg}");
    }
}
