//! Inserts rows of the record that are not sealed yet, in the transactions of what they record.

use crate::audit::{Entry, FormerUsername};
use rolegate_sql_store::Statement;
use serde_json::{Value, json};
use std::slice;

/// The columns of a row that is not sealed, and their types in PostgreSQL.
pub(super) const PENDING: [(&str, &str); 12] = [
    ("event", "text"),
    ("user_id", "bigint"),
    ("username", "text"),
    ("actor_id", "bigint"),
    ("actor", "text"),
    ("actor_key", "bigint"),
    ("actor_session", "bigint"),
    ("client_address", "text"),
    ("request_id", "text"),
    ("details", "text"),
    ("state", "text"),
    ("former_username", "text"),
];

/// Behind the role, in the state of a user who is disabled.
pub(super) const DISABLED: &str = " disabled";

impl Entry {
    fn to_row(&self) -> Value {
        let (actor_id, actor) = match &self.actor {
            _ if self.by_owner => (self.user_id, self.username.as_deref()),
            Some((id, name)) => (Some(*id), Some(&**name)),
            None => (None, None),
        };
        let state = self
            .state
            .map(|(role, disabled)| format!("{role}{}", if disabled { DISABLED } else { "" }));
        json!({
            "event": self.event, "user_id": self.user_id, "username": self.username, "actor_id": actor_id,
            "actor": actor, "actor_key": self.actor_key, "actor_session": self.actor_session,
            "client_address": self.client_address, "request_id": self.request_id,
            "details": self.details.to_json(), "state": state,
            "former_username": self.details.former_username.as_ref().map(FormerUsername::to_stored),
        })
    }
}

/// Inserts rows that are not sealed yet, into the statement that begins a transaction or follows in one.
pub(in crate::store) fn insert_pending(start: Statement, entries: &[Entry]) -> Statement {
    insert(start, entries, ", details, state").push(" RETURNING id")
}

/// Ends a statement of PostgreSQL that begins with `WITH written AS (` and returns the row of a user: records
/// the entry if there is one, with the name and the state of that row.
pub(in crate::store) fn record_written(start: Statement, entry: &Entry) -> Statement {
    let state = ", details,
        state || (SELECT CASE WHEN disabled THEN ' disabled' ELSE '' END FROM written)";
    let recorded = insert(
        start.push("), recorded AS ("),
        slice::from_ref(entry),
        state,
    );
    recorded.push(" AND EXISTS (SELECT 1 FROM written)) SELECT * FROM written")
}

fn insert(start: Statement, entries: &[Entry], state: &'static str) -> Statement {
    let rows: Vec<_> = entries.iter().map(Entry::to_row).collect();
    let start = start.push(
        "INSERT INTO audit_pending (at, event, user_id, username, actor_id, actor, actor_key, actor_session,
            client_address, request_id, former_username, details, state)
        SELECT ",
    );
    let names = r#", event, user_id, coalesce(username, (SELECT username FROM "user" AS u WHERE u.id = user_id)),
        actor_id, coalesce(actor, (SELECT username FROM "user" AS u WHERE u.id = actor_id)), actor_key,
        actor_session, client_address, request_id, former_username"#;
    start
        .push_now()
        .push(names)
        .push(state)
        .push_rows(&PENDING, &rows)
}
