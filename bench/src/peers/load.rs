//! Loads the systems in alternating rounds of profiles and of logins.

use super::peer::Peer;
use crate::{
    Failure,
    http_client::Connection,
    statistics::{Spread, completion_rate, millis, rate, spread},
    users::{LoadUser, PASSWORD},
    wrk::Wrk,
};
use futures_util::future::try_join_all;
use http::StatusCode;
use std::time::{Duration, Instant};

/// The number of connections that log in, as for the capacity of `bench flood`.
pub(super) const LOGIN_CONNECTIONS: usize = 24;
const WARM_UP_SECONDS: u64 = 2;

/// The measurements of `GET /profile` of each peer.
pub(super) struct Profiles {
    pub(super) connections: usize,
    pub(super) per_second: Vec<Spread>,
    pub(super) p99_millis: Vec<Spread>,
}

/// Requests profiles on this many connections.
pub(super) async fn profiles(
    peers: &[Peer],
    connections: usize,
    (rounds, seconds): (usize, u64),
) -> Result<Profiles, Failure> {
    let folder = tempfile::tempdir()?;
    let (mut speeds, mut latencies) =
        (vec![Vec::new(); peers.len()], vec![Vec::new(); peers.len()]);
    for round in 0..rounds {
        for index in alternating(peers.len(), round) {
            let peer = &peers[index];
            let wrk = Wrk::new("/profile", peer.headers.iter().cloned(), folder.path())?;
            if round == 0 {
                wrk.load(peer.address, connections, WARM_UP_SECONDS).await?;
            }
            let seen = wrk.load(peer.address, connections, seconds).await?;
            speeds[index].push(rate(seen.requests, seen.time));
            latencies[index].push(millis(seen.p99));
        }
    }
    let spreads = |rounds: Vec<Vec<f64>>| rounds.into_iter().map(spread).collect();
    Ok(Profiles {
        connections,
        per_second: spreads(speeds),
        p99_millis: spreads(latencies),
    })
}

/// Returns the logins per second of each peer, in a closed loop.
pub(super) async fn logins(
    peers: &[Peer],
    users: &[LoadUser],
    rounds: usize,
    seconds: u64,
) -> Result<Vec<Spread>, Failure> {
    let mut speeds = vec![Vec::new(); peers.len()];
    for round in 0..rounds {
        for index in alternating(peers.len(), round) {
            let time = Duration::from_secs(seconds);
            speeds[index].push(logins_per_second(&peers[index], users, time).await?);
        }
    }
    Ok(speeds.into_iter().map(spread).collect())
}

async fn logins_per_second(
    peer: &Peer,
    users: &[LoadUser],
    time: Duration,
) -> Result<f64, Failure> {
    let start = Instant::now();
    let clients = (0..LOGIN_CONNECTIONS).map(async |client| {
        let mut connection = Connection::open(peer.address).await?;
        let address = format!("10.0.0.{}", client + 1);
        let mut ends = Vec::new();
        for user in users.iter().cycle().skip(client).step_by(LOGIN_CONNECTIONS) {
            if start.elapsed() > time {
                break;
            }
            let credentials = peer.api.credentials(&user.username, PASSWORD);
            let answer = connection
                .post(peer.api.login, &credentials, &address)
                .await?;
            if answer.status != StatusCode::OK {
                let text = format!("{}: login: {} {}", peer.name, answer.status, answer.body);
                return Err(text.into());
            }
            ends.push(start.elapsed());
        }
        Ok::<_, Failure>(ends)
    });
    Ok(completion_rate(try_join_all(clients).await?.concat()))
}

/// Returns the order of a round: A B C, or C B A in the next one, so that drift of the machine affects all equally.
fn alternating(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |index| {
        if round.is_multiple_of(2) {
            index
        } else {
            count - 1 - index
        }
    })
}

#[cfg(test)]
mod tests {
    use super::alternating;

    #[test]
    fn every_other_round_is_reversed() {
        let orders = [0, 1, 2].map(|round| alternating(3, round).collect::<Vec<_>>());
        assert_eq!(orders, [[0, 1, 2], [2, 1, 0], [0, 1, 2]]);
    }
}
