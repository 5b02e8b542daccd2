//! Measures an application behind nginx with `auth_request`, relative to the same nginx without it.

use crate::{
    Failure,
    chart::{Bar, Chart, GREY, Group},
    cluster, console, machine, nginx,
    noise::Noise,
    page,
    program::Program,
    report::{self, Block, Table, thousands},
    services,
    statistics::rate,
    usage,
    users::{self, LoadUser},
    verdict::{self, Mark, Verdict},
    wrk::{Wrk, WrkResult},
};
use std::{path::Path, time::Duration};
use tokio::process::Child;

const CONFIGURATION: &str = include_str!("../../deploy/proxies/nginx/nginx.conf");
/// The configuration of the application, which is as small as possible: it answers every request.
const APPLICATION: &str = "events {}
http { server { listen 127.0.0.1:8080; location / { return 200 ok; } } }
";
const CONNECTIONS: usize = 128;
/// The mark for the throughput with decisions, as a share of that without them.
const MIN_THROUGHPUT: f64 = 0.35;

/// Loads an application behind nginx, with and without decisions, and prints the ratio.
#[derive(Debug, clap::Args)]
pub(crate) struct ProxyOptions {
    /// Take a quarter of the time; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Write bench/results/performance-proxy.md and its chart
    #[arg(long, conflicts_with = "quick")]
    write: bool,
}

/// Runs the benchmark and prints the results.
#[expect(
    clippy::too_many_lines,
    reason = "the steps of one measurement, in order"
)]
pub(crate) async fn proxy(options: ProxyOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL, auth-service, gateway and nginx");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    let auth = services::auth_service(&url, folder.path()).await?;
    users::insert_into_postgresql(&url).await?;
    let gateway = services::gateway(&auth, None, folder.path()).await?;
    let (application, proxy) = (nginx::free_address().await?, nginx::free_address().await?);
    let ports = [
        (8080, application.port()),
        (8088, proxy.port()),
        (8002, gateway.address("forward")?.port()),
    ];
    let application_process = nginx::start("application", APPLICATION, &ports, folder.path())?;
    let proxy_process = nginx::start("proxy", CONFIGURATION, &ports, folder.path())?;
    nginx::wait_until_reachable(application).await?;
    nginx::wait_until_reachable(proxy).await?;

    let headers = || users.iter().map(LoadUser::bearer);
    let open = Wrk::new("/public/", headers(), folder.path())?;
    let decided = Wrk::new("/decided", headers(), folder.path())?;
    let noise = Noise::start(&cluster);
    let seconds = if options.quick { 3 } else { 12 };
    let load = async |wrk: &Wrk| wrk.load(proxy, CONNECTIONS, seconds).await;
    load(&open).await?;
    load(&decided).await?;
    let cpu = || {
        cpu_of(
            &application_process,
            &proxy_process,
            &gateway,
            &auth,
            cluster.pid,
        )
    };
    // The order is A B B A, so that drift of the machine affects both equally.
    let open_1 = load(&open).await?;
    let before = cpu();
    let (decided_1, decided_2) = (load(&decided).await?, load(&decided).await?);
    let spent = cpu().into_iter().zip(before);
    let mut spent: Vec<_> = spent
        .map(|((name, after), (_, before))| (name, after.saturating_sub(before)))
        .collect();
    spent.push(("wrk", decided_1.own_cpu + decided_2.own_cpu));
    let open_2 = load(&open).await?;
    let results = Results {
        open: per_second(&open_1, &open_2),
        decided: per_second(&decided_1, &decided_2),
        cpu_shares: shares(&spent),
    };
    let how = format!(
        "deploy/proxies/nginx in front of another nginx that answers everything, {CONNECTIONS} \
         connections of wrk, {seconds} seconds each: without, with, with, without auth_request. CPU time \
         is that of all programs while nginx asks for decisions."
    );
    let mut machine = machine::description(&cluster.programs);
    let hardware = machine.first().cloned().unwrap_or_default();
    machine.push(noise.report(&cluster));
    let blocks = results.report(how, machine);
    console::print(&report::plain(&blocks));
    if options.write {
        let chart = results.chart(&hardware);
        page::write(Path::new("bench/results"), "proxy", Some(&chart), &blocks)?;
    }
    Ok(())
}

fn per_second(one: &WrkResult, other: &WrkResult) -> f64 {
    f64::midpoint(
        rate(one.requests, one.time),
        rate(other.requests, other.time),
    )
}

/// Converts the CPU time of each program to percent of the total.
fn shares(spent: &[(&'static str, Duration)]) -> Vec<(&'static str, f64)> {
    let total: Duration = spent.iter().map(|(_, time)| *time).sum();
    let share = |time: &Duration| 100.0 * time.as_secs_f64() / total.as_secs_f64();
    spent
        .iter()
        .map(|(name, time)| (*name, share(time)))
        .collect()
}

struct Results {
    /// The requests per second without decisions.
    open: f64,
    /// The requests per second with decisions.
    decided: f64,
    /// The CPU time of each program with decisions, in percent of the total.
    cpu_shares: Vec<(&'static str, f64)>,
}

impl Results {
    fn report(&self, how: String, machine: Vec<String>) -> Vec<Block> {
        let claim = format!("nginx with auth_request / without, {CONNECTIONS} connections");
        let mark = Mark::AtLeast(MIN_THROUGHPUT);
        let verdict = Verdict::once(&claim, self.decided / self.open, mark, "×");
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let rows = vec![
            row(
                "requests per second without auth_request",
                thousands(self.open),
            ),
            row(
                "requests per second with auth_request",
                thousands(self.decided),
            ),
        ];
        let cpu = self
            .cpu_shares
            .iter()
            .map(|(name, share)| row(name, format!("{share:.0} %")));
        vec![
            Block::Heading("Mark for an application behind nginx".to_owned()),
            Block::Table(verdict::table(&[verdict])),
            Block::Heading("Figures".to_owned()),
            Block::Table(Table {
                head: vec!["What", "Measured"],
                rows,
            }),
            Block::Heading("CPU time with auth_request".to_owned()),
            Block::Table(Table {
                head: vec!["Program", "Share"],
                rows: cpu.collect(),
            }),
            Block::Heading("Method and machine".to_owned()),
            Block::Paragraph(how),
            Block::List(machine),
        ]
    }

    fn chart(&self, machine: &str) -> Chart {
        let speed = |name: &str, value| Bar::once(name, value, thousands(value));
        let share = |(name, share): &(&str, f64)| Bar::once(name, *share, format!("{share:.0} %"));
        let speeds = Group {
            title: format!("{CONNECTIONS} connections, requests per second"),
            unit: "requests per second",
            bars: vec![
                Bar {
                    colour: GREY,
                    ..speed("without auth_request", self.open)
                },
                Bar {
                    mark: Some(MIN_THROUGHPUT * self.open),
                    ..speed("with auth_request", self.decided)
                },
            ],
        };
        let cpu = Group {
            title: "Share of the CPU time, with auth_request".to_owned(),
            unit: "%",
            bars: self.cpu_shares.iter().map(share).collect(),
        };
        Chart {
            title: "An application behind nginx, with and without decisions".to_owned(),
            label: "Requests per second of nginx, and CPU time of each program".to_owned(),
            groups: vec![speeds, cpu],
            footer: format!(
                "The red line is the mark. {machine}; all programs on the same machine."
            ),
        }
    }
}

fn cpu_of(
    application: &Child,
    proxy: &Child,
    gateway: &Program,
    auth: &Program,
    postgresql: u32,
) -> [(&'static str, Duration); 5] {
    let of_child = |child: &Child| child.id().map(usage::cpu).unwrap_or_default();
    [
        ("nginx as the proxy", of_child(proxy)),
        ("nginx as the application", of_child(application)),
        ("gateway", usage::cpu(gateway.pid)),
        ("auth-service", usage::cpu(auth.pid)),
        ("PostgreSQL", usage::cpu_of_family(postgresql)),
    ]
}

#[cfg(test)]
mod tests {
    use super::{Results, shares};
    use crate::report;
    use std::time::Duration;

    #[test]
    fn the_page_and_the_chart_show_throughput_and_the_share_of_each_program() {
        let spent = [("nginx as the proxy", 3), ("gateway", 1), ("wrk", 0)];
        let spent = spent.map(|(name, seconds)| (name, Duration::from_secs(seconds)));
        let results = Results {
            open: 30_000.0,
            decided: 9000.0,
            cpu_shares: shares(&spent),
        };
        let page = report::markdown(&results.report("how".to_owned(), vec!["machine".to_owned()]));
        for row in [
            "| nginx with auth_request / without, 128 connections | 0.30× |  | ≥ 0.35× | missed |",
            "| requests per second with auth_request | 9,000 |",
            "| nginx as the proxy | 75 % |",
            "| gateway | 25 % |",
            "| wrk | 0 % |",
        ] {
            assert!(page.contains(row), "{row} is not in {page}");
        }
        let svg = results.chart("machine").svg();
        for text in ["30,000", "9,000", "75 %", "gateway", "0 %"] {
            assert!(
                svg.contains(&format!(">{text}</text>")),
                "{text} is not in {svg}"
            );
        }
        assert_eq!(svg.matches("class=\"mark\"").count(), 1, "{svg}");
    }
}
