//! A user logs in, and makes several requests at a time, some of which the role does not allow.

use super::passwords::{current_password, log_in, show_password};
use crate::{
    dice::{below, dice, pause},
    history::{Access, Change, ChangeOf, Shared, call},
    http::{Answer, Credentials},
    outcome::Outcome,
};
use rand::rngs::StdRng;
use serde_json::json;
use tokio::task::JoinSet;

pub(crate) async fn user(history: Shared, seed: u64, user: usize) -> turmoil::Result {
    let mut dice = dice(seed, 100 + user as u64);
    while history.borrow().users.len() <= user {
        pause(&mut dice, 50).await;
    }
    while !history.borrow().is_calm {
        let token = history.borrow().tokens[user].clone();
        match token {
            None => {
                let path = if below(&mut dice, 3) == 0 {
                    "/sessions"
                } else {
                    "/login"
                };
                let number = current_password(&history, &mut dice, user);
                log_in(&history, user, number, path).await;
                pause(&mut dice, 300).await;
            }
            Some(token) => burst(&history, &mut dice, user, token).await,
        }
        pause(&mut dice, 160).await;
    }
    history.borrow_mut().users_done += 1;
    Ok(())
}

/// Makes several requests at once, so that they share batches.
async fn burst(history: &Shared, dice: &mut StdRng, user: usize, token: (usize, String)) {
    if below(dice, 40) == 0 {
        return sign_out(history, user, &token).await;
    }
    let mut requests = JoinSet::new();
    for _ in 0..=below(dice, 3) {
        let (kind, number) = (below(dice, 12), current_password(history, dice, user));
        let (history, token) = (history.clone(), token.clone());
        requests.spawn_local(async move {
            match kind {
                0..5 => access(&history, user, &token, "/profile").await,
                5..9 => access(&history, user, &token, "/author").await,
                9 => post(&history, user, &token).await,
                _ => show_password(&history, &format!("user-{user}"), user, number).await,
            }
        });
    }
    while requests.join_next().await.is_some() {}
}

/// Makes a request with the token, notes the answer, and forgets a token that is refused.
pub(super) async fn access(history: &Shared, user: usize, token: &(usize, String), path: &str) {
    let name = history.borrow().users[user].0.clone();
    let (begun, ended, answer) = call(
        history,
        &name,
        ("GET", path),
        Credentials::Token(&token.1),
        None,
    )
    .await;
    let mut history = history.borrow_mut();
    let (of_authors, role) = (path == "/author", answer.text("role"));
    let (login, status) = (token.0, answer.status);
    history.accesses.push(Access {
        login,
        begun,
        ended,
        of_authors,
        status,
        role,
    });
    forget(&mut history.tokens[user], login, status);
}

fn forget(current: &mut Option<(usize, String)>, login: usize, status: u16) {
    if status == 401
        && current
            .as_ref()
            .is_some_and(|(current, _)| *current == login)
    {
        *current = None;
    }
}

/// Creates a post and edits its title up to twice. An edit that is refused or not answered is the last.
async fn post(history: &Shared, user: usize, token: &(usize, String)) {
    let of = format!("user-{user}");
    let mut title = history.borrow_mut().title(&of);
    let made = send_post(history, user, token, ("POST", "/posts"), &title).await;
    let Some(id) = made.body["id"].as_i64() else {
        return;
    };
    let path = format!("/posts/{id}");
    for _ in 0..2 {
        let next = history.borrow_mut().title(&of);
        match send_post(history, user, token, ("PUT", &path), &next)
            .await
            .outcome()
        {
            Outcome::Done => history.borrow_mut().set_title(&title, Outcome::Refused),
            Outcome::Unknown => {
                let mut history = history.borrow_mut();
                history.set_title(&title, Outcome::Unknown);
                return history.unanswered_edits.push((title, next));
            }
            Outcome::Refused => return,
        }
        title = next;
        look(history, id, &title).await;
    }
}

/// Reads a post by its id or in a list, and expects this title, because no other client edits the post.
async fn look(history: &Shared, id: i64, title: &str) {
    let list = format!("/posts?after={}&limit=3", id - 1);
    let path = if id % 2 == 0 {
        format!("/posts/{id}")
    } else {
        list
    };
    let read = call(
        history,
        "reader",
        ("GET", &path),
        Credentials::Nothing,
        None,
    )
    .await
    .2;
    let mut posts = read.body["posts"]
        .as_array()
        .into_iter()
        .flatten()
        .chain([&read.body]);
    let mut history = history.borrow_mut();
    history.posts_read += usize::from(read.is_ok());
    if read.is_ok() && posts.all(|post| post["title"] != title) {
        history
            .wrong
            .push(format!("stale: {title} is not at {path}"));
    }
}

async fn send_post(
    history: &Shared,
    user: usize,
    token: &(usize, String),
    (method, path): (&str, &str),
    title: &str,
) -> Answer {
    let name = history.borrow().users[user].0.clone();
    let body = json!({"title": title, "content": "text"});
    let (begun, ended, answer) = call(
        history,
        &name,
        (method, path),
        Credentials::Token(&token.1),
        Some(body),
    )
    .await;
    let mut history = history.borrow_mut();
    history.set_title(title, answer.outcome());
    let (login, status) = (token.0, answer.status);
    let role = String::new();
    history.accesses.push(Access {
        login,
        begun,
        ended,
        of_authors: true,
        status,
        role,
    });
    forget(&mut history.tokens[user], login, status);
    answer
}

/// Logs out with an access token, which ends all tokens of the user. A session would end only itself, so it is left
/// alone.
async fn sign_out(history: &Shared, user: usize, token: &(usize, String)) {
    let name = history.borrow().users[user].0.clone();
    if token.1.starts_with("rgs_") {
        return;
    }
    let index = begin(history, user, Change::SignOut);
    let (_, ended, answer) = call(
        history,
        &name,
        ("POST", "/logout"),
        Credentials::Token(&token.1),
        None,
    )
    .await;
    finish(history, index, ended, &answer);
}

/// Notes a change before its request is sent, and returns its index in the history.
pub(super) fn begin(history: &Shared, user: usize, change: Change) -> usize {
    let mut history = history.borrow_mut();
    let begun = history.step();
    let ended = usize::MAX;
    history.changes.push(ChangeOf {
        user,
        change,
        begun,
        ended,
        outcome: Outcome::Unknown,
    });
    history.changes.len() - 1
}

pub(super) fn finish(history: &Shared, index: usize, ended: usize, answer: &Answer) {
    let change = &mut history.borrow_mut().changes[index];
    change.outcome = answer.outcome();
    if change.outcome != Outcome::Unknown {
        change.ended = ended;
    }
}
