//! Checks the record and the stored users, as the operator reads them at the end.

use crate::{
    check,
    history::{Actor, Attempts, State},
    stage::Stage,
    watcher::Seen,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// The events that change what other services keep about a user.
const CHANGES: [&str; 6] = [
    "registered",
    "user_created",
    "role_changed",
    "user_disabled",
    "user_enabled",
    "user_deleted",
];

/// Asserts that the record is intact, that it has each of these changes once and with its actor,
/// and that the changes lead to the stored users.
pub(crate) async fn check(stage: &Stage, attempts: &Attempts, changes: &[Seen]) {
    let verified = stage.command(&["audit", "verify"]).await;
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let rows = lines(stage, &["audit", "export"]).await;
    let revisions: Vec<_> = rows
        .iter()
        .filter_map(|row| row["revision"].as_u64())
        .collect();
    let all: Vec<_> = (1..).take(rows.len()).collect();
    assert_eq!(revisions, all, "revisions without gaps");
    let end = changes.last().map(|last| last.revision);
    let is_change = |row: &&Value| CHANGES.iter().any(|event| row["event"] == *event);
    let recorded: Vec<_> = rows
        .iter()
        .filter(is_change)
        .filter(|row| row["revision"].as_i64() <= end)
        .collect();
    assert_eq!(
        recorded.len(),
        changes.len(),
        "the record and the stream have the same changes"
    );

    let mut made = HashMap::<&str, usize>::new();
    for (row, seen) in recorded.into_iter().zip(changes) {
        let number = made.entry(&seen.state.username).or_default();
        let attempt = &attempts[&seen.state.username][*number];
        *number += 1;
        let (id, key, session) = match attempt.actor {
            Actor::Admin { id, key, session } => (Some(id), key, session),
            Actor::Owner => (Some(seen.user_id), None, None),
            Actor::Operator => (None, None, None),
        };
        let by = matches!(attempt.actor, Actor::Operator).then_some("operator");
        let expected = json!([
            seen.revision,
            attempt.event,
            seen.user_id,
            seen.state.username,
            id,
            key,
            session,
            by,
        ]);
        let found = json!([
            row["revision"],
            row["event"],
            row["user_id"],
            row["username"],
            row["actor_id"],
            row["actor_key"],
            row["actor_session"],
            row["details"]["by"],
        ]);
        assert_eq!(found, expected, "{row}");
    }
    assert_eq!(
        stored(stage).await,
        check::state(changes),
        "the stored users"
    );
}

async fn lines(stage: &Stage, arguments: &[&str]) -> Vec<Value> {
    let exit = stage.command(arguments).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    exit.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Returns the stored users by id.
async fn stored(stage: &Stage) -> BTreeMap<i64, State> {
    let users = lines(stage, &["user", "export"]).await;
    let user = |user: Value| {
        let text = |field: &str| user[field].as_str().expect("text").to_owned();
        let user_now = State {
            username: text("username"),
            role: text("role"),
            disabled: user["disabled"].as_bool().unwrap_or_default(),
            deleted: false,
        };
        (user["id"].as_i64().expect("an id"), user_now)
    };
    users.into_iter().map(user).collect()
}
