//! Measures the capacity of logins without a flood, and the latency of a single login.

use super::clients::{Clients, client_address};
use crate::{
    Failure,
    statistics::{Spread, completion_rate, spread},
    users::PASSWORD,
};
use futures_util::future::try_join_all;
use http::StatusCode;
use rolegate_bcrypt_lanes::{ClientKey, Cost, Engine};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The cost that the services use.
const COST: u32 = 12;

/// The number of clients in a closed loop. They fill the lanes of two cores, and stay below every queue limit.
pub(crate) const CLOSED_LOOP_CLIENTS: usize = 24;

/// The capacity of logins over HTTP and of the engine alone, measured alternately in closed loops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// The logins per second over HTTP.
    pub(crate) logins: Spread,
    /// The verifications per second of the engine alone, in this process.
    pub(crate) engine: Spread,
    /// The ratio of logins to verifications in each round.
    pub(crate) ratio: Spread,
}

/// Measures both capacities for `rounds` rounds, in the order A B B A.
pub(crate) async fn capacity(
    clients: &Clients,
    rounds: usize,
    time: Duration,
) -> Result<Capacity, Failure> {
    let engine = Arc::new(Engine::start(rolegate_bcrypt_lanes::Settings::default())?);
    let stored: Arc<str> = bcrypt::hash(PASSWORD, COST)?.into();
    let verify = |number: usize| {
        let (engine, stored) = (Arc::clone(&engine), Arc::clone(&stored));
        async move {
            let cost = Cost::new(COST).ok_or("an invalid cost")?;
            let client = ClientKey::from(client_address(number));
            let deadline = Instant::now() + Duration::from_secs(10);
            let verdict = engine.verify(PASSWORD.as_bytes(), Some(&stored), cost, client, deadline);
            Ok(verdict.await?.value.is_match())
        }
    };
    let (mut logins, mut verified) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        for is_login in [round % 2 == 0, round % 2 != 0] {
            if is_login {
                logins.push(logins_per_second(clients, time).await?);
            } else {
                verified.push(closed_loop(time, verify).await?);
            }
        }
    }
    let ratio = spread(
        logins
            .iter()
            .zip(&verified)
            .map(|(login, engine)| login / engine),
    );
    Ok(Capacity {
        logins: spread(logins),
        engine: spread(verified),
        ratio,
    })
}

/// Returns the logins per second over HTTP in a closed loop.
pub(crate) async fn logins_per_second(clients: &Clients, time: Duration) -> Result<f64, Failure> {
    let log_in = |number| {
        let login = clients.clone().log_in(number);
        async move { Ok(login.await? == StatusCode::OK) }
    };
    closed_loop(time, log_in).await
}

/// Returns the successes per second of clients in a closed loop.
async fn closed_loop<F>(time: Duration, work: impl Fn(usize) -> F) -> Result<f64, Failure>
where
    F: Future<Output = Result<bool, Failure>>,
{
    let start = Instant::now();
    let clients = (0..CLOSED_LOOP_CLIENTS).map(async |client| {
        let (mut ends, mut number) = (Vec::new(), client);
        while start.elapsed() < time {
            if work(number).await? {
                ends.push(start.elapsed());
            }
            number += CLOSED_LOOP_CLIENTS;
        }
        Ok::<_, Failure>(ends)
    });
    let ends = try_join_all(clients).await?.concat();
    let rate = completion_rate(ends);
    if rate.is_finite() {
        Ok(rate)
    } else {
        Err("nothing was completed".into())
    }
}

/// The latency of a single login and of one hash by the `bcrypt` crate, measured alternately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lone {
    /// The time of a login over HTTP, in seconds.
    pub(crate) login: Spread,
    /// The time of a hash, in seconds.
    pub(crate) hash: Spread,
    /// The ratio of a login to a hash in each round.
    pub(crate) ratio: Spread,
}

/// Measures both latencies for `rounds` rounds, in the order A B B A.
pub(crate) async fn lone(clients: &Clients, rounds: usize) -> Result<Lone, Failure> {
    let stored = bcrypt::hash(PASSWORD, COST)?;
    let (mut logins, mut hashes) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        for is_login in [round % 2 == 0, round % 2 != 0] {
            let start = Instant::now();
            let is_right = if is_login {
                clients.clone().log_in(round).await? == StatusCode::OK
            } else {
                tokio::task::block_in_place(|| bcrypt::verify(PASSWORD, &stored))?
            };
            if !is_right {
                return Err("a correct password was refused".into());
            }
            let times = if is_login { &mut logins } else { &mut hashes };
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let ratio = spread(logins.iter().zip(&hashes).map(|(login, hash)| login / hash));
    Ok(Lone {
        login: spread(logins),
        hash: spread(hashes),
        ratio,
    })
}
