//! The clients: an admin who changes users, the users, and somebody who guesses a password.

mod admin;
mod guesser;
mod user;

pub(crate) use admin::admin;
pub(crate) use guesser::guesser;
pub(crate) use user::user;

use crate::history::{Login, Shared, call};
use rand::{Rng, SeedableRng as _, rngs::StdRng};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

/// Users whom the admin changes.
pub(crate) const USERS: usize = 3;

/// The dice of a client, which depend on the seed and on nothing that happens.
pub(crate) fn dice(seed: u64, client: u64) -> StdRng {
    StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9).wrapping_add(client))
}

pub(crate) fn below(dice: &mut StdRng, bound: u64) -> u64 {
    dice.next_u64() % bound
}

/// Waits up to so many milliseconds.
async fn pause(dice: &mut StdRng, millis: u64) {
    sleep(Duration::from_millis(below(dice, millis))).await;
}

fn password(name: &str) -> String {
    format!("the password of {name}")
}

/// Logs in, or makes a session, and remembers the token for everybody.
async fn log_in(history: &Shared, user: usize, path: &str) {
    let name = history.borrow().users[user].0.clone();
    let body = json!({"username": name, "password": password(&name)});
    let (begun, ended, answer) = call(history, &name, ("POST", path), None, Some(body)).await;
    let mut history = history.borrow_mut();
    history.logins.push(Login { user, begun, ended, status: answer.status });
    let login = history.logins.len() - 1;
    if answer.is_ok() {
        let field = if path == "/login" { "access_token" } else { "token" };
        history.tokens[user] = Some((login, answer.text(field)));
    }
}
