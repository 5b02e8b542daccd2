//! Logins at rest: how many can be done, and what a lone one costs.

use super::clients::Clients;
use crate::{
    Failure,
    statistics::{Spread, rate, spread},
    users::PASSWORD,
};
use futures_util::future::try_join_all;
use http::StatusCode;
use std::time::{Duration, Instant};

/// Enough to keep every lane of two cores busy, and below every bound of a queue.
pub(crate) const CLOSED_LOOP_CLIENTS: usize = 24;

/// Logins per second of clients who each wait for their answer, and then log in again.
pub(crate) async fn capacity(clients: &Clients, time: Duration) -> Result<f64, Failure> {
    let start = Instant::now();
    let tasks = (0..CLOSED_LOOP_CLIENTS).map(|client| {
        let clients = clients.clone();
        tokio::spawn(async move {
            let (mut done, mut number) = (0_u64, client);
            while start.elapsed() < time {
                let status = clients.clone().log_in(number).await?;
                // What ends after the time is up was not done in time.
                done += u64::from(status == StatusCode::OK && start.elapsed() < time);
                number += CLOSED_LOOP_CLIENTS;
            }
            Ok::<u64, Failure>(done)
        })
    });
    let done = try_join_all(tasks).await?.into_iter().sum::<Result<u64, Failure>>()?;
    Ok(rate(done, time))
}

/// What a lone login takes, against one hash of the `bcrypt` crate and nothing else, in turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lone {
    /// Of the login over HTTP, in seconds.
    pub(crate) login: Spread,
    /// Of the hash, in seconds.
    pub(crate) hash: Spread,
    /// Turn by turn.
    pub(crate) ratio: Spread,
}

/// Measures both `turns` times, A B B A.
pub(crate) async fn lone(clients: &Clients, turns: usize) -> Result<Lone, Failure> {
    let stored = bcrypt::hash(PASSWORD, 12)?;
    let (mut logins, mut hashes) = (Vec::new(), Vec::new());
    for turn in 0..turns {
        for is_login in [turn % 2 == 0, turn % 2 != 0] {
            let start = Instant::now();
            let is_right = if is_login {
                clients.clone().log_in(turn).await? == StatusCode::OK
            } else {
                tokio::task::block_in_place(|| bcrypt::verify(PASSWORD, &stored))?
            };
            if !is_right {
                return Err("a right password was refused".into());
            }
            let times = if is_login { &mut logins } else { &mut hashes };
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let ratio = spread(logins.iter().zip(&hashes).map(|(login, hash)| login / hash));
    Ok(Lone { login: spread(logins), hash: spread(hashes), ratio })
}
