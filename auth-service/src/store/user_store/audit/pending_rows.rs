//! Inserts unsealed rows of the record. A row about a change is inserted in the transaction of the change.

use crate::{
    audit::{AuditRow, Entry},
    user::{is_disabled, is_in_force},
};
use rolegate_sql_store::{Columns as _, Statement};
use std::slice;

/// The columns that the database or the sealing assigns.
const ASSIGNED: [&str; 4] = ["revision", "id", "at", "commitments"];

/// Builds the statement that inserts unsealed rows and returns their ids. `start` is an empty statement of the
/// database, which determines the SQL dialect.
pub(in crate::store) fn insert_pending(start: Statement, entries: &[Entry]) -> Statement {
    insert(start, entries, "state").push(" RETURNING id")
}

/// Builds the statement that inserts an unsealed row about each member of the group with this name. The rows are those
/// of the entry, with the id, the name and the state of the member.
pub(in crate::store) fn insert_pending_of_members(
    start: Statement,
    entry: &Entry,
    group_name: &str,
) -> Statement {
    let columns = AuditRow::column_names().filter(|name| !ASSIGNED.contains(name));
    let values = columns.clone().map(|name| match name {
        "user_id" => "member.user_id",
        "username" => "member.username",
        "state" => "member.state",
        name => name,
    });
    start
        .push("INSERT INTO audit_pending (at, ")
        .push_list(columns.clone())
        .push(") SELECT $NOW, ")
        .push_list(values)
        .push(" FROM (SELECT ")
        .push_list(columns)
        .push_rows([&entry.row])
        .push(concat!(
            ") AS entry, (SELECT membership.user_id, username, role || CASE WHEN ",
            is_disabled!(),
            " THEN ' disabled' ELSE '' END AS state
                FROM membership JOIN \"user\" ON id = membership.user_id WHERE ",
            is_in_force!(),
            " AND group_name = "
        ))
        .push_bind(group_name)
        .push(") AS member")
}

/// Ends a statement of PostgreSQL that begins with `WITH written AS (` and returns the row of a user. If that row
/// exists, the whole statement records the entry and returns the row. The recorded state is the role in the entry,
/// followed by `disabled` if the row says that the user is disabled.
pub(in crate::store) fn record_written(start: Statement, entry: &Entry) -> Statement {
    let start = start.push("), recorded AS (");
    let state = "state || (SELECT CASE WHEN disabled THEN ' disabled' ELSE '' END FROM written)";
    insert(start, slice::from_ref(entry), state)
        .push(" AND EXISTS (SELECT 1 FROM written)) SELECT * FROM written")
}

/// Appends an insert of unsealed rows. If an entry lacks the name of the user or of the actor, the insert itself looks
/// it up by the id. `state` is the SQL expression for the column `state`.
fn insert(start: Statement, entries: &[Entry], state: &'static str) -> Statement {
    let columns = AuditRow::column_names().filter(|name| !ASSIGNED.contains(name));
    let values = columns.clone().map(|name| match name {
        "username" => {
            r#"coalesce(username, (SELECT username FROM "user" AS u WHERE u.id = user_id))"#
        }
        "actor" => r#"coalesce(actor, (SELECT username FROM "user" AS u WHERE u.id = actor_id))"#,
        "state" => state,
        name => name,
    });
    start
        .push("INSERT INTO audit_pending (at, ")
        .push_list(columns)
        .push(") SELECT $NOW, ")
        .push_list(values)
        .push_rows(entries.iter().map(|entry| &entry.row))
}
