//! Inserts unsealed rows of the record. A row about a change is inserted in the transaction of the change.

use crate::{audit::Entry, former_username::FormerUsername, store::user_change::encode_state};
use rolegate_sql_store::{Statement, row};
use serde::Serialize;
use std::slice;

row! {
    /// An entry of the record as a row to insert.
    #[derive(Serialize)]
    struct PendingRow {
        event: String,
        user_id: Option<i64>,
        username: Option<String>,
        actor_id: Option<i64>,
        actor: Option<String>,
        actor_key: Option<i64>,
        actor_session: Option<i64>,
        client_address: Option<String>,
        request_id: Option<String>,
        details: String,
        state: Option<String>,
        former_username: Option<String>,
    }
}

impl From<&Entry> for PendingRow {
    fn from(entry: &Entry) -> Self {
        let username = entry.username.clone();
        let (actor_id, actor) = match &entry.actor {
            _ if entry.by_owner => (entry.user_id, username.clone()),
            Some(actor) => (Some(actor.id), Some(actor.username.clone())),
            None => (None, None),
        };
        let former_username = entry.details.former_username.as_ref();
        Self {
            event: entry.event.to_owned(),
            user_id: entry.user_id,
            username,
            actor_id,
            actor,
            actor_key: entry.actor_key,
            actor_session: entry.actor_session,
            client_address: entry.client_address.map(|address| address.to_string()),
            request_id: entry.request_id.clone(),
            details: entry.details.to_json(),
            state: entry.state.map(encode_state),
            former_username: former_username.map(FormerUsername::to_stored),
        }
    }
}

/// Builds the statement that inserts unsealed rows and returns their ids. `start` is an empty statement of the
/// database, which determines the SQL dialect.
pub(in crate::store) fn insert_pending(start: Statement, entries: &[Entry]) -> Statement {
    insert(start, entries, " state").push(" RETURNING id")
}

/// Ends a statement of PostgreSQL that begins with `WITH written AS (` and returns the row of a user. If that row
/// exists, the whole statement records the entry and returns the row. The recorded state is the role in the entry,
/// followed by `disabled` if the row says that the user is disabled.
pub(in crate::store) fn record_written(start: Statement, entry: &Entry) -> Statement {
    let start = start.push("), recorded AS (");
    let state = "
        state || (SELECT CASE WHEN disabled THEN ' disabled' ELSE '' END FROM written)";
    insert(start, slice::from_ref(entry), state)
        .push(" AND EXISTS (SELECT 1 FROM written)) SELECT * FROM written")
}

/// Appends an insert of unsealed rows. If an entry lacks the name of the user or of the actor, the insert itself looks
/// it up by the id. `state` is the SQL expression for the column `state`.
fn insert(start: Statement, entries: &[Entry], state: &'static str) -> Statement {
    let rows: Vec<_> = entries.iter().map(PendingRow::from).collect();
    start
        .push(
            "INSERT INTO audit_pending (at, event, user_id, username, actor_id, actor, actor_key, actor_session,
            client_address, request_id, former_username, details, state)
        SELECT ",
        )
        .push_now()
        .push(
            r#", event, user_id, coalesce(username, (SELECT username FROM "user" AS u WHERE u.id = user_id)),
        actor_id, coalesce(actor, (SELECT username FROM "user" AS u WHERE u.id = actor_id)), actor_key,
        actor_session, client_address, request_id, former_username, details,"#,
        )
        .push(state)
        .push_rows(&rows)
}
