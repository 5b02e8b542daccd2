//! Defines the entry of one event, from which both the line of the log and the row of the record are made.

use super::AuditRow;
use crate::{actor::Actor, former_username::FormerUsername, user::User};
use rolegate_program::audit_line;
use rolegate_sql_store::row;
use serde::Serialize;
use serde_json::Value;

/// An event that becomes a line of the audit log and a row of the record.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The row. The store assigns the revision, the id and the time, and looks up the names that are `None`.
    pub(crate) row: AuditRow,
    /// The fields that only some events have, as a JSON object. The row contains them as text.
    pub(super) details: Value,
    /// True if the user acts on their own account. The log line then names the user only once, whereas the row
    /// names the user as the actor, too.
    by_owner: bool,
}

row! {
    /// The number of credentials of each kind that were revoked when an operator revoked those of all users at
    /// once. Access tokens are revoked as well, but not counted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub(crate) struct EndedCredentials {
        /// The last revision of the record before this row. The revisions between it and the revision of this row
        /// stay unused.
        pub(crate) after_revision: i64,
        pub(crate) sessions: i64,
        /// The number of password links.
        pub(crate) links: i64,
        /// The number of second factors whose enrollment had begun and was not confirmed.
        pub(crate) second_factors: i64,
        pub(crate) api_keys: i64,
    }
}

/// The rows that retention has removed from the record.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Removal {
    /// The revision of the last row that was removed.
    pub(crate) removed_through: i64,
    /// The time before which all removed rows were written, in Unix seconds.
    pub(crate) removed_before: i64,
    /// The value of `AUDIT_RETENTION_DAYS` in the process that removed the rows.
    pub(crate) retention_days: u32,
}

impl Entry {
    /// Creates an entry without an actor. The row gets the details as text, without nulls and with sorted fields. The
    /// seal of a row covers this text, so the same details must always give the same bytes.
    pub(crate) fn new(row: AuditRow, mut details: Value) -> Self {
        if let Value::Object(fields) = &mut details {
            fields.retain(|_, value| !value.is_null());
        }
        Self {
            row: AuditRow {
                details: details.to_string(),
                ..row
            },
            details,
            by_owner: false,
        }
    }

    /// Creates the entry of an event about `user` in the current request. `user` is `None` if the event is
    /// about no known user.
    pub(super) fn in_current_request(event: &str, user: Option<&User>, details: Value) -> Self {
        let row = AuditRow {
            event: event.to_owned(),
            user_id: user.map(|user| user.id),
            username: user.map(|user| user.username.clone()),
            ..AuditRow::of_current_request()
        };
        Self::new(row, details)
    }

    /// Sets the user who caused the event, whom the line of the log names as well.
    pub(super) fn set_actor(&mut self, actor: &User) {
        self.by_owner = false;
        self.row.actor_id = Some(actor.id);
        self.row.actor = Some(actor.username.clone());
    }

    /// Sets the user whom the event is about as the actor.
    pub(crate) fn set_owner_as_actor(&mut self) {
        self.by_owner = true;
        self.row.actor_id = self.row.user_id;
        self.row.actor.clone_from(&self.row.username);
    }

    /// Sets the key or the session by which the actor acted.
    pub(super) fn set_credential(&mut self, actor: &Actor) {
        self.row.actor_key = actor.key_id();
        self.row.actor_session = actor.session_id();
    }

    /// Returns whether this entry is the summary of refusals that got no row of their own.
    pub(crate) fn is_summary(&self) -> bool {
        self.details["count"].is_number()
    }

    /// Returns how many refusals this entry of a sign-in or refusal stands for: 0 for a successful sign-in,
    /// otherwise 1 or the count of a summary.
    pub(crate) fn refusals(&self) -> u64 {
        match &*self.row.event {
            "login_ok" => 0,
            _ => self.details["count"].as_u64().unwrap_or(1),
        }
    }

    /// Writes this entry as a line of the audit log, without the fields that are `None`. Details that are not listed
    /// here are only in the record, such as the time at which a deleted user was created.
    pub(crate) fn log(&self) {
        let row = &self.row;
        let text = |name| self.details[name].as_str();
        let number = |name| self.details[name].as_i64();
        let former = row
            .former_username
            .as_deref()
            .and_then(FormerUsername::from_stored);
        let mut from = text("from");
        let mut to = text("to");
        if let Some(former) = &former {
            from = Some(&former.name);
            to = row.username.as_deref();
        }
        let actor = if self.by_owner { None } else { Some(row) };
        audit_line!(
            row.event,
            user_id = row.user_id,
            username = row.username,
            key_id = number("key_id"),
            session_id = number("session_id"),
            session = text("session"),
            role = text("role"),
            group = text("group"),
            members = number("members"),
            from,
            to,
            actor_id = actor.and_then(|row| row.actor_id),
            actor = actor.and_then(|row| row.actor.as_deref()),
            actor_key = row.actor_key,
            actor_session = row.actor_session,
            by = text("by"),
            method = text("method"),
            reason = text("reason"),
            rows = number("rows"),
            count = number("count"),
            after_revision = number("after_revision"),
            sessions = number("sessions"),
            links = number("links"),
            second_factors = number("second_factors"),
            api_keys = number("api_keys"),
            removed_through = number("removed_through"),
            removed_before = number("removed_before"),
            retention_days = number("retention_days"),
        );
    }
}
