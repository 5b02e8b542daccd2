//! The guesser tries passwords of a user who never logs in, faster than the limit of login failures allows.

use crate::{
    clients::USERS,
    dice::{below, dice, pause},
    history::{Shared, call, now},
    http::Credentials,
};
use serde_json::json;

/// The user whose password is guessed.
pub(crate) const VICTIM: &str = "victim";

/// How long the guesses last. They all fall into one window of the limit, because a window is a minute long.
const SECONDS: u64 = 50;

pub(crate) async fn guesser(history: Shared, seed: u64) -> turmoil::Result {
    let mut dice = dice(seed, 1);
    while history.borrow().users.len() <= USERS {
        pause(&mut dice, 50).await;
    }
    let begun = now();
    while !history.borrow().is_calm && now().saturating_sub(begun).as_secs() < SECONDS {
        let guess = format!("guess {}", below(&mut dice, 1_000_000));
        let body = Some(json!({"username": VICTIM, "password": guess}));
        let (method, path, credentials, body) = match below(&mut dice, 3) {
            0 => ("POST", "/login", Credentials::Nothing, body),
            1 => ("POST", "/sessions", Credentials::Nothing, body),
            _ => (
                "GET",
                "/protected",
                Credentials::Password(VICTIM, &guess),
                None,
            ),
        };
        let (_, _, answer) = call(&history, "guesser", (method, path), credentials, body).await;
        history.borrow_mut().guesses.push(answer.status);
        pause(&mut dice, 700).await;
    }
    Ok(())
}
