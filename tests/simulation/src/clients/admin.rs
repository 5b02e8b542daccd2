//! The admin creates the users, changes them while everything fails, and reads the stored state at the end.

use super::{
    USERS,
    guesser::VICTIM,
    passwords::{current_password, password, show_password},
    user::{access, begin, finish},
};
use crate::{
    dice::{below, dice, pause, pick},
    faults::CALM,
    history::{Change, Shared, call, now},
    http::Credentials,
    programs::ADMIN_PASSWORD,
};
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

const NAME: &str = "admin";

fn names() -> impl Iterator<Item = String> {
    (0..USERS)
        .map(|user| format!("user-{user}"))
        .chain([VICTIM.to_owned()])
}

pub(crate) async fn admin(history: Shared, seed: u64) -> turmoil::Result {
    let mut dice = dice(seed, 0);
    let mut token = log_in(&history).await;
    for name in names() {
        register(&history, &token, name).await;
    }
    for number in 1.. {
        if history.borrow().is_calm {
            break;
        }
        let user = usize::try_from(below(&mut dice, USERS as u64))?;
        let change = match below(&mut dice, 13) {
            0..6 => Change::Role(pick(&mut dice, &["user", "author", "author"])),
            6..8 => Change::Disabled(below(&mut dice, 3) == 0),
            8..10 => Change::SignOut,
            10..12 => Change::Password(number),
            _ => {
                make_and_delete(&history, &token, format!("guest-{number}")).await;
                continue;
            }
        };
        let before = current_password(&history, &mut dice, user);
        // Shows the old password before and after the change: the first check may be cached, and the second must not
        // use it.
        let has_new_password = matches!(change, Change::Password(_));
        if has_new_password {
            show_password(&history, NAME, user, before).await;
        }
        make(&history, &mut token, user, &change, &mut dice).await;
        if has_new_password {
            show_password(&history, NAME, user, before).await;
        }
        pause(&mut dice, 400).await;
    }
    look(&history, token).await;
    Ok(())
}

/// Makes a change. Once it is acknowledged, the user's next request often begins at once, to find an answer that is
/// stale.
async fn make(
    history: &Shared,
    token: &mut String,
    user: usize,
    change: &Change,
    dice: &mut StdRng,
) {
    let (name, id) = history.borrow().users[user].clone();
    let role_path = format!("/users/{id}/role");
    let (method, path, body) = match &change {
        Change::Role(role) => ("PUT", role_path, Some(json!({"role": role}))),
        Change::Disabled(disabled) => (
            "PATCH",
            format!("/users/{id}"),
            Some(json!({"disabled": disabled})),
        ),
        Change::SignOut => ("DELETE", format!("/users/{id}/tokens"), None),
        Change::Password(number) => {
            let body = json!({"password": password(&name, *number)});
            ("PUT", format!("/users/{id}/password"), Some(body))
        }
    };
    let index = begin(history, user, change.clone());
    let line = format!("admin wants {change:?} of user-{user}");
    history.borrow_mut().line(&line);
    let (_, ended, answer) = call(
        history,
        NAME,
        (method, &path),
        Credentials::Token(token),
        body,
    )
    .await;
    finish(history, index, ended, &answer);
    if answer.status == 401 {
        *token = log_in(history).await;
    }
    let of_user = history.borrow().tokens[user].clone();
    if let Some(of_user) = of_user
        && answer.is_ok()
        && below(dice, 2) == 0
    {
        access(history, user, &of_user, "/author").await;
    }
}

/// Creates a user and deletes them again.
async fn make_and_delete(history: &Shared, token: &str, name: String) {
    let body = json!({"username": name, "password": password(&name, 0)});
    let credentials = Credentials::Token(token);
    let (_, _, made) = call(history, NAME, ("POST", "/users"), credentials, Some(body)).await;
    let Some(id) = made.body["id"].as_i64() else {
        return;
    };
    let path = format!("/users/{id}");
    let (_, _, deleted) = call(history, NAME, ("DELETE", &path), credentials, None).await;
    history.borrow_mut().guests.push((name, deleted.outcome()));
}

/// Logs in, and tries again until a login succeeds.
async fn log_in(history: &Shared) -> String {
    loop {
        let body = json!({"username": NAME, "password": ADMIN_PASSWORD});
        let (_, _, answer) = call(
            history,
            NAME,
            ("POST", "/login"),
            Credentials::Nothing,
            Some(body),
        )
        .await;
        if answer.is_ok() {
            return answer.text("access_token");
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Creates a user and notes the id, and tries again until both are done.
async fn register(history: &Shared, token: &str, name: String) {
    loop {
        let body = json!({"username": name, "password": password(&name, 0)});
        let (_, _, made) = call(
            history,
            NAME,
            ("POST", "/register"),
            Credentials::Nothing,
            Some(body),
        )
        .await;
        let path = format!("/users?username={name}");
        let (_, _, found) = call(
            history,
            NAME,
            ("GET", &path),
            Credentials::Token(token),
            None,
        )
        .await;
        if let Some(id) = found.body["users"][0]["id"].as_i64()
            && (made.is_ok() || made.status == 400)
        {
            let mut history = history.borrow_mut();
            history.users.push((name, id));
            return history.tokens.push(None);
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until requests succeed again and all users have finished, then records the stored state.
async fn look(history: &Shared, mut token: String) {
    let password = Credentials::Password(NAME, ADMIN_PASSWORD);
    loop {
        let credentials = Credentials::Token(&token);
        let is_still = history.borrow().users_done == USERS;
        let users = call(
            history,
            NAME,
            ("GET", "/users?limit=200"),
            credentials,
            None,
        )
        .await
        .2;
        let posts = call(
            history,
            NAME,
            ("GET", "/posts?limit=200"),
            credentials,
            None,
        )
        .await
        .2;
        let basic = call(history, NAME, ("GET", "/protected"), password, None)
            .await
            .2;
        if users.status == 401 {
            token = log_in(history).await;
        } else if users.is_ok() && posts.is_ok() && basic.is_ok() {
            let text = |value: &Value, field: &str| value[field].as_str().unwrap_or("").to_owned();
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let users = list(&users.body["users"])
                .iter()
                .map(|user| {
                    (
                        text(user, "username"),
                        text(user, "role"),
                        user["disabled"] == json!(true),
                    )
                })
                .collect();
            let posts = list(&posts.body["posts"])
                .iter()
                .map(|post| text(post, "title"))
                .collect();
            let mut history = history.borrow_mut();
            history.recovered.get_or_insert(now().saturating_sub(CALM));
            if is_still {
                history.end = Some((users, posts));
                return;
            }
        }
        sleep(Duration::from_millis(200)).await;
    }
}
