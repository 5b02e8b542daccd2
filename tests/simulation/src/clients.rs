//! The clients: an admin who changes users, the users, and somebody who guesses a password.

mod admin;
mod guesser;
mod user;

pub(crate) use admin::admin;
pub(crate) use guesser::guesser;
pub(crate) use user::user;

use crate::{
    history::{Change, Login, Outcome, Shared, call},
    http::Credentials,
};
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

/// One of these, each as likely as another.
pub(crate) fn pick<T: Copy>(dice: &mut StdRng, from: &[T]) -> T {
    from[usize::try_from(below(dice, from.len() as u64)).unwrap_or(0)]
}

/// Waits up to so many milliseconds.
async fn pause(dice: &mut StdRng, millis: u64) {
    sleep(Duration::from_millis(below(dice, millis))).await;
}

/// Users have this one of number 0 at first.
fn password(name: &str, number: usize) -> String {
    format!("password {number} of {name}")
}

/// The number of the newest password that was acknowledged, or of one that may have been stored since.
fn current_password(history: &Shared, dice: &mut StdRng, user: usize) -> usize {
    let history = history.borrow();
    let mut numbers = vec![0];
    for change in history.changes.iter().filter(|change| change.user == user) {
        if let (Change::Password(number), outcome) = (&change.change, change.outcome) {
            match outcome {
                Outcome::Refused => {}
                Outcome::Done => numbers = vec![*number],
                Outcome::Unknown => numbers.push(*number),
            }
        }
    }
    pick(dice, &numbers)
}

/// Asks for what needs a password, with HTTP Basic.
async fn show_password(history: &Shared, who: &str, user: usize, number: usize) {
    let name = history.borrow().users[user].0.clone();
    let secret = password(&name, number);
    let credentials = Credentials::Password(&name, &secret);
    let (begun, ended, answer) = call(history, who, ("GET", "/protected"), credentials, None).await;
    let login = Login {
        user,
        password: number,
        begun,
        ended,
        status: answer.status,
    };
    history.borrow_mut().basic.push(login);
}

/// Logs in, or makes a session, and remembers the token for everybody.
async fn log_in(history: &Shared, user: usize, number: usize, path: &str) {
    let name = history.borrow().users[user].0.clone();
    let body = json!({"username": name, "password": password(&name, number)});
    let (begun, ended, answer) = call(
        history,
        &name,
        ("POST", path),
        Credentials::Nothing,
        Some(body),
    )
    .await;
    let mut history = history.borrow_mut();
    history.logins.push(Login {
        user,
        password: number,
        begun,
        ended,
        status: answer.status,
    });
    let login = history.logins.len() - 1;
    if answer.is_ok() {
        let field = if path == "/login" {
            "access_token"
        } else {
            "token"
        };
        history.tokens[user] = Some((login, answer.text(field)));
    }
}
