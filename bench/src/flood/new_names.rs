//! Measures correct logins over HTTP beside a flood of ever-new names from one address.
//!
//! The flood is pinned to one core, so that it takes no more than one core from the services.

use super::clients::Clients;
use crate::{
    Failure, cluster, console,
    http_client::Connection,
    machine,
    noise::Noise,
    report::{self, Block, Table},
    services,
    statistics::{millis, percentile, rate, spread},
    users,
    verdict::{self, Mark, Verdict},
};
use http::StatusCode;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::{sync::oneshot, task::JoinSet};

const CONNECTIONS: usize = 400;
const LOGINS: u32 = 24;
/// The values of `LOGIN_FAILURE_LIMIT`. The default soon refuses the address of the flood. Without a limit, only the
/// shares of the password engine hold the flood back.
const LIMITS: [&str; 2] = ["20", "0"];
/// The client address of the flood, which differs from those of `Clients`.
const FLOOD_ADDRESS: &str = "203.0.113.5";
/// The time until the rate of the flood is steady.
const WARM_UP: Duration = Duration::from_secs(2);

/// The measurements of one round at one limit.
#[derive(Debug)]
struct Round {
    limit: &'static str,
    /// The median time of a login without the flood, in milliseconds.
    lone: f64,
    succeeded: u32,
    /// The 95th percentile of the times of all correct logins in the flood, in milliseconds.
    p95: f64,
    flood_per_second: f64,
}

/// Runs `rounds` rounds at each limit and prints the report.
pub(super) async fn new_names(rounds: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL, auth-services and gateways");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    // `targets` is declared after `cluster`, so that the programs end before PostgreSQL does.
    let mut targets = Vec::new();
    for limit in LIMITS {
        let settings = [("LOGIN_FAILURE_LIMIT", limit)];
        let auth = services::auth_service_with(&url, &settings, folder.path()).await?;
        let gateway = services::gateway(&auth, None, folder.path()).await?;
        targets.push((limit, gateway.address("bearer")?, [gateway, auth]));
    }
    users::insert_into_postgresql(&url).await?;
    let noise = Noise::start(&cluster);
    let mut measured = Vec::new();
    for number in 1..=rounds {
        console::progress(&format!("round {number} of {rounds}"));
        for (limit, address, _) in &targets {
            let clients = Clients::new(users.clone(), *address);
            measured.push(round(limit, &clients, *address).await?);
        }
    }
    let mut blocks = vec![
        Block::Heading("Marks in a flood of new names from one address".to_owned()),
        Block::Table(verdict::table(&verdicts(&measured))),
        Block::Heading("Rounds".to_owned()),
        Block::Table(table(&measured)),
        Block::Paragraph(format!(
            "{CONNECTIONS} connections of one address log in with ever-new names and a wrong password as \
             fast as they are answered, from one thread that is pinned to one core. After {} s, {LOGINS} \
             correct logins from another address follow one another; before the flood as many alone. p95 \
             is of all {LOGINS}, a lone login the median. The worst round decides.",
            WARM_UP.as_secs(),
        )),
    ];
    let mut machine = machine::description(&cluster.programs);
    machine.push(noise.report(&cluster));
    blocks.push(Block::List(machine));
    console::print(&report::plain(&blocks));
    Ok(())
}

async fn round(
    limit: &'static str,
    clients: &Clients,
    address: SocketAddr,
) -> Result<Round, Failure> {
    let alone = log_in(clients).await?;
    let flood = Flood::start(address);
    tokio::time::sleep(WARM_UP).await;
    let (before, started) = (flood.answered(), Instant::now());
    let beside = log_in(clients).await?;
    let flood_per_second = rate(flood.answered() - before, started.elapsed());
    flood.stop()?;
    let succeeded = beside
        .iter()
        .filter(|(status, _)| *status == StatusCode::OK)
        .count();
    let times: Vec<_> = beside.iter().map(|(_, time)| *time).collect();
    Ok(Round {
        limit,
        lone: spread(alone.iter().map(|(_, time)| millis(*time))).median,
        succeeded: u32::try_from(succeeded)?,
        p95: millis(percentile(&times, 95)),
        flood_per_second,
    })
}

/// Sends correct logins from one address, one after another.
async fn log_in(clients: &Clients) -> Result<Vec<(StatusCode, Duration)>, Failure> {
    let mut outcomes = Vec::new();
    for number in 0..LOGINS {
        let started = Instant::now();
        outcomes.push((
            clients
                .clone()
                .log_in_from(0, usize::try_from(number)?)
                .await?,
            started.elapsed(),
        ));
    }
    Ok(outcomes)
}

/// A running flood, which has a thread of its own.
struct Flood {
    answered: Arc<AtomicU64>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), Failure>>,
}

impl Flood {
    fn start(address: SocketAddr) -> Self {
        let answered = Arc::<AtomicU64>::default();
        let (stop, stopped) = oneshot::channel();
        let count = Arc::clone(&answered);
        let thread = thread::spawn(move || {
            pin_to_one_core()?;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let mut connections = JoinSet::new();
                for number in 0..CONNECTIONS {
                    connections.spawn(guess(address, number, Arc::clone(&count)));
                }
                tokio::select! {
                    _ = stopped => Ok(()),
                    Some(failed) = connections.join_next() => failed?,
                }
            })
        });
        Self {
            answered,
            stop,
            thread,
        }
    }

    fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    fn stop(self) -> Result<(), Failure> {
        // Sending fails if the thread has ended with an error, which is returned below.
        let _ = self.stop.send(());
        tokio::task::block_in_place(|| self.thread.join()).map_err(|_| "the flood panicked")?
    }
}

/// Tries to log in with ever-new names until it is dropped.
async fn guess(
    address: SocketAddr,
    connection: usize,
    answered: Arc<AtomicU64>,
) -> Result<(), Failure> {
    let mut open = Connection::open(address).await?;
    for number in 0_u64.. {
        let name = format!("unknown {connection} {number}");
        let response = open.log_in(&name, "wrong", FLOOD_ADDRESS).await?;
        answered.fetch_add(1, Ordering::Relaxed);
        if response.status == StatusCode::OK {
            return Err("a login with an unknown username succeeded".into());
        }
    }
    Ok(())
}

/// Pins this thread to the last core that this process may use.
fn pin_to_one_core() -> Result<(), Failure> {
    let allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU)
        .rev()
        .find(|core| allowed.is_set(*core))
        .ok_or("no core")?;
    let mut one = CpuSet::new();
    one.set(last);
    Ok(sched_setaffinity(None, &one)?)
}

fn verdicts(rounds: &[Round]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for limit in LIMITS {
        let of = || rounds.iter().filter(|round| round.limit == limit);
        let succeeded = spread(of().map(|round| round.succeeded.into())).least;
        let claim = format!("limit {limit}: correct logins that succeed, of {LOGINS}");
        verdicts.push(Verdict::once(
            &claim,
            succeeded,
            Mark::AtLeast(LOGINS.into()),
            "",
        ));
        let ratio = spread(of().map(|round| round.p95 / round.lone)).most;
        let claim = format!("limit {limit}: p95 of these / a lone login");
        verdicts.push(Verdict::once(&claim, ratio, Mark::AtMost(3.0), "×"));
    }
    verdicts
}

fn table(rounds: &[Round]) -> Table {
    let rows = rounds.iter().map(|round| {
        vec![
            round.limit.to_owned(),
            format!("{:.0}", round.lone),
            format!("{:.0}", round.p95),
            format!("{:.2}", round.p95 / round.lone),
            format!("{} of {LOGINS}", round.succeeded),
            format!("{:.0}", round.flood_per_second),
        ]
    });
    Table {
        head: vec![
            "Limit",
            "lone ms",
            "p95 ms",
            "ratio",
            "succeed",
            "flood answers/s",
        ],
        rows: rows.collect(),
    }
}
