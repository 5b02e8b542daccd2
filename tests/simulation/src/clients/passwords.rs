//! Requests that present a password. The admin and the users make them.

use crate::{
    dice::pick,
    history::{Change, Login, Shared, call},
    http::Credentials,
    outcome::Outcome,
};
use rand::rngs::StdRng;
use serde_json::json;

/// Returns the password of a user with this number. A new user has number 0.
pub(super) fn password(name: &str, number: usize) -> String {
    format!("password {number} of {name}")
}

/// Returns the number of the newest acknowledged password, or of one that may have been stored since then.
pub(super) fn current_password(history: &Shared, dice: &mut StdRng, user: usize) -> usize {
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

/// Makes a request with HTTP Basic, and notes whether the password was accepted.
pub(super) async fn show_password(history: &Shared, who: &str, user: usize, number: usize) {
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

/// Logs in or creates a session at `path`, and notes the token, which all clients of the user then use.
pub(super) async fn log_in(history: &Shared, user: usize, number: usize, path: &str) {
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
