//! Measures floods in a closed loop, in which connections log in as fast as they are answered.
//!
//! At the same time, wrk requests `/profile`. For comparison, wrk also requests `/profile` while as many connections
//! request `/public`.

use super::{clients::Clients, logins::logins_per_second};
use crate::{
    Failure, cluster, console, machine,
    report::{self, Block, Table},
    statistics::{completion_rate, millis, spread},
    target, users,
    verdict::{self, Mark, Verdict},
    wrk::{Wrk, WrkResult},
};
use futures_util::future::try_join_all;
use http::StatusCode;
use std::{
    iter,
    net::SocketAddr,
    time::{Duration, Instant},
};

const FLOOD_CONNECTIONS: usize = 128;
const PROFILE_CONNECTIONS: usize = 4;
/// The number of client addresses of each flood: one, and as many as the open loop has.
const ADDRESSES: [usize; 2] = [1, 1000];
const NAMES: [&str; 2] = ["one address", "a thousand addresses"];

/// The measurements of one flood, with `/profile` beside it.
#[derive(Debug)]
struct Flood {
    profiles: WrkResult,
    completed: f64,
    refused: usize,
}

/// Runs `rounds` rounds of `seconds` and prints the report.
pub(super) async fn closed(rounds: usize, seconds: u64) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL, auth-service and gateway");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    // `split` is declared after `cluster`, so that the programs end before PostgreSQL does.
    let split = target::split(&cluster, folder.path()).await?;
    let headers = users.iter().map(users::LoadUser::bearer);
    let profile = Wrk::new("/profile", headers, folder.path())?;
    let public = Wrk::new(
        "/public",
        iter::once("Bearer none".to_owned()),
        folder.path(),
    )?;
    let clients = Clients::new(users, split.bearer);
    console::progress("capacity");
    let capacity = logins_per_second(&clients, Duration::from_secs(seconds)).await?;

    let mut calm = Vec::new();
    let mut floods = ADDRESSES.map(|_| Vec::new());
    for round in 1..=rounds {
        console::progress(&format!("round {round} of {rounds}"));
        let beside = public.load(split.bearer, FLOOD_CONNECTIONS, seconds);
        let (profiles, _) = tokio::try_join!(
            profile.load(split.bearer, PROFILE_CONNECTIONS, seconds - 1),
            beside
        )?;
        calm.push(profiles);
        for (addresses, floods) in ADDRESSES.into_iter().zip(&mut floods) {
            floods.push(flood(&clients, &profile, split.bearer, addresses, seconds).await?);
        }
    }
    let mut blocks = vec![
        Block::Heading("Marks in a closed loop of logins".to_owned()),
        Block::Table(verdict::table(&verdicts(&calm, &floods, capacity))),
        Block::Heading("Rounds".to_owned()),
        Block::Table(table(&calm, &floods)),
        Block::Paragraph(format!(
            "{FLOOD_CONNECTIONS} connections log in with correct passwords as fast as they are answered, \
             from one address and from a thousand, for {seconds} s each; before each pair as many \
             connections request GET /public. Beside each, wrk requests GET /profile on \
             {PROFILE_CONNECTIONS} connections. Capacity: {capacity:.1} logins/s. The load generators \
             run on the same machine."
        )),
    ];
    blocks.push(Block::List(machine::description(&cluster.programs)));
    console::print(&report::plain(&blocks));
    Ok(())
}

async fn flood(
    clients: &Clients,
    profile: &Wrk,
    address: SocketAddr,
    addresses: usize,
    seconds: u64,
) -> Result<Flood, Failure> {
    let (start, time) = (Instant::now(), Duration::from_secs(seconds));
    let connections = (0..FLOOD_CONNECTIONS).map(|connection| {
        let clients = clients.clone();
        let task = tokio::spawn(async move {
            let (mut ends, mut refused, mut number) = (Vec::new(), 0, connection);
            while start.elapsed() < time {
                match clients
                    .clone()
                    .log_in_from(number % addresses, number)
                    .await?
                {
                    StatusCode::OK => ends.push(start.elapsed()),
                    StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => refused += 1,
                    other => return Err(format!("POST /login: {other}").into()),
                }
                number += FLOOD_CONNECTIONS;
            }
            Ok::<_, Failure>((ends, refused))
        });
        async { task.await? }
    });
    let profiles = profile.load(address, PROFILE_CONNECTIONS, seconds - 1);
    let (profiles, outcomes) = tokio::try_join!(profiles, try_join_all(connections))?;
    let (ends, refused): (Vec<_>, Vec<usize>) = outcomes.into_iter().unzip();
    let completed = completion_rate(ends.concat());
    Ok(Flood {
        profiles,
        completed,
        refused: refused.iter().sum(),
    })
}

/// Compares the worst round with each mark, because every round counts.
fn verdicts(calm: &[WrkResult], floods: &[Vec<Flood>; 2], capacity: f64) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (name, floods) in NAMES.into_iter().zip(floods) {
        let ratios = floods
            .iter()
            .zip(calm)
            .map(|(flood, calm)| flood.profiles.p99.as_secs_f64() / calm.p99.as_secs_f64());
        let claim = format!(
            "{name}: /profile p99 / the same beside /public, the worst of {}",
            calm.len()
        );
        verdicts.push(Verdict::once(
            &claim,
            spread(ratios).most,
            Mark::AtMost(2.0),
            "×",
        ));
        let shares = floods.iter().map(|flood| flood.completed / capacity);
        let claim = format!(
            "{name}: logins completed / capacity, the worst of {}",
            calm.len()
        );
        verdicts.push(Verdict::once(
            &claim,
            spread(shares).least,
            Mark::AtLeast(0.5),
            "×",
        ));
    }
    verdicts
}

fn table(calm: &[WrkResult], floods: &[Vec<Flood>; 2]) -> Table {
    let head = vec![
        "Round",
        "/public: p99 ms",
        "one: p99 ms",
        "logins/s",
        "refused",
        "1000: p99 ms",
        "logins/s",
        "refused",
    ];
    let rows = calm.iter().enumerate().map(|(round, calm)| {
        let mut row = vec![(round + 1).to_string(), format!("{:.1}", millis(calm.p99))];
        for flood in floods.iter().filter_map(|floods| floods.get(round)) {
            row.push(format!("{:.1}", millis(flood.profiles.p99)));
            row.push(format!("{:.1}", flood.completed));
            row.push(flood.refused.to_string());
        }
        row
    });
    Table {
        head,
        rows: rows.collect(),
    }
}
