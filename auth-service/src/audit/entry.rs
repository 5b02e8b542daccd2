//! Defines the entry of one event, from which both the line of the log and the row of the record are made.

use crate::{
    former_username::{FORMER_DIGEST, FormerUsername},
    user::User,
};
use rolegate_proto::Role;
use rolegate_telemetry::{audit_line, request_context::RequestContext};
use serde_json::{Value, json};
use std::net::IpAddr;

/// An event that becomes a line of the audit log and a row of the record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) event: &'static str,
    /// The id of the user whom the event is about; `None` if it is about no known user.
    pub(crate) user_id: Option<i64>,
    /// The username of that user. If it is `None`, the store looks it up when it inserts the row.
    pub(crate) username: Option<String>,
    /// The user who caused the event; `None` if `by_owner` is true or if no user caused it.
    pub(crate) actor: Option<EntryActor>,
    /// True if the user acts on their own account. The log line then names the user only once, and the row
    /// names the user as the actor.
    pub(crate) by_owner: bool,
    /// The id of the API key by which the actor acted.
    pub(crate) actor_key: Option<i64>,
    /// The id of the session by which the actor acted.
    pub(crate) actor_session: Option<i64>,
    pub(crate) client_address: Option<IpAddr>,
    pub(crate) request_id: Option<String>,
    pub(crate) details: Details,
    /// The user's role and state after a change that other services follow; `None` for all other events.
    pub(crate) state: Option<UserState>,
}

/// The user who caused an event.
#[derive(Clone, Debug)]
pub(crate) struct EntryActor {
    pub(crate) id: i64,
    pub(crate) username: String,
}

/// The properties of a user, besides the username, that other services store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserState {
    pub(crate) role: Role,
    pub(crate) disabled: bool,
}

/// The fields that only some events have. In the record, they are the JSON in the column `details`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    pub(crate) key_id: Option<i64>,
    pub(crate) session_id: Option<i64>,
    /// The first characters of the session's token, by which the log lines about denials name the session.
    pub(crate) session: Option<String>,
    pub(crate) role: Option<Role>,
    pub(crate) from: Option<Role>,
    pub(crate) to: Option<Role>,
    /// The name that a renamed user had before.
    pub(crate) former_username: Option<FormerUsername>,
    /// The text `operator` for a change that the operator made.
    pub(crate) by: Option<&'static str>,
    /// The purpose of the password check, such as `login` or `basic`.
    pub(crate) method: Option<&'static str>,
    pub(crate) reason: Option<&'static str>,
    /// The number of rows from which something was erased.
    pub(crate) rows: Option<usize>,
    /// The number of refusals that got no row of their own.
    pub(crate) count: Option<u64>,
    pub(crate) ended: Option<EndedCredentials>,
    pub(crate) removal: Option<Removal>,
    /// The time at which a deleted user was created, in Unix seconds; 0 if it is unknown. The log omits it.
    /// With this time, other services can tell the deleted user from one who is imported later with the same
    /// id.
    pub(crate) user_created_at: Option<u64>,
}

/// The number of credentials of each kind that were revoked when an operator revoked those of all users at
/// once. Access tokens are revoked as well, but not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// The rows that retention has removed from the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    /// The revision of the last row that was removed.
    pub(crate) removed_through: i64,
    /// The time before which all removed rows were written, in Unix seconds.
    pub(crate) removed_before: i64,
    /// The value of `AUDIT_RETENTION_DAYS` in the process that removed the rows.
    pub(crate) retention_days: u32,
}

/// The request that caused an event. Both fields are `None` if no request caused it.
#[derive(Clone, Debug, Default)]
pub(super) struct EventOrigin {
    pub(super) client_address: Option<IpAddr>,
    pub(super) request_id: Option<String>,
}

impl EventOrigin {
    /// Returns the request that the current task serves, or an empty origin if it serves none.
    pub(super) fn current() -> Self {
        let origin = RequestContext::with_current(|current| Self {
            client_address: current.client_address,
            request_id: current.request_id.to_str().ok().map(str::to_owned),
        });
        origin.unwrap_or_default()
    }
}

impl From<&User> for EntryActor {
    fn from(user: &User) -> Self {
        Self {
            id: user.id,
            username: user.username.clone(),
        }
    }
}

impl Entry {
    /// Creates the entry of an event about `user` in the current request. `user` is `None` if the event is
    /// about no known user.
    pub(super) fn in_current_request(
        event: &'static str,
        user: Option<&User>,
        details: Details,
    ) -> Self {
        let origin = EventOrigin::current();
        Self {
            event,
            user_id: user.map(|user| user.id),
            username: user.map(|user| user.username.clone()),
            client_address: origin.client_address,
            request_id: origin.request_id,
            details,
            ..Self::default()
        }
    }

    /// Names the owner of the account as the actor in the line of the log, too.
    pub(super) fn name_actor(&mut self, owner: &User) {
        self.by_owner = false;
        self.actor = Some(EntryActor::from(owner));
    }

    /// Returns how many refusals this entry of a sign-in or refusal stands for: 0 for a successful sign-in,
    /// otherwise 1 or the count of a summary.
    pub(crate) fn refusals(&self) -> u64 {
        match self.event {
            "login_ok" => 0,
            _ => self.details.count.unwrap_or(1),
        }
    }

    /// Writes this entry as a line of the audit log, without the fields that are `None`.
    pub(crate) fn log(&self) {
        let details = &self.details;
        let mut from = details.from.as_ref().map(Role::as_str);
        let mut to = details.to.as_ref().map(Role::as_str);
        if let Some(former) = &details.former_username {
            from = Some(&former.name);
            to = self.username.as_deref();
        }
        let actor = self.actor.as_ref();
        let ended = details.ended.as_ref();
        let removal = details.removal.as_ref();
        audit_line!(
            self.event,
            user_id = self.user_id,
            username = self.username,
            key_id = details.key_id,
            session_id = details.session_id,
            session = details.session,
            role = details.role.as_ref().map(Role::as_str),
            from,
            to,
            actor_id = actor.map(|actor| actor.id),
            actor = actor.map(|actor| &*actor.username),
            actor_key = self.actor_key,
            actor_session = self.actor_session,
            by = details.by,
            method = details.method,
            reason = details.reason,
            rows = details.rows,
            count = details.count,
            after_revision = ended.map(|ended| ended.after_revision),
            sessions = ended.map(|ended| ended.sessions),
            links = ended.map(|ended| ended.links),
            second_factors = ended.map(|ended| ended.second_factors),
            api_keys = ended.map(|ended| ended.api_keys),
            removed_through = removal.map(|removal| removal.removed_through),
            removed_before = removal.map(|removal| removal.removed_before),
            retention_days = removal.map(|removal| removal.retention_days),
        );
    }
}

impl Details {
    /// Creates the details of an event that has the role of its user.
    pub(super) fn of_role(role: Role) -> Self {
        Self {
            role: Some(role),
            ..Self::default()
        }
    }

    /// Returns the value of the column `details`: a JSON object without nulls and with sorted fields. The seal
    /// of a row covers this text, so the same details must always give the same bytes.
    pub(crate) fn to_json(&self) -> String {
        let ended = self.ended.as_ref();
        let removal = self.removal.as_ref();
        let mut details = json!({
            "key_id": self.key_id,
            "session_id": self.session_id,
            "session": self.session,
            "role": self.role.as_ref().map(Role::as_str),
            "from": self.from.as_ref().map(Role::as_str),
            "to": self.to.as_ref().map(Role::as_str),
            FORMER_DIGEST: self.former_username.as_ref().map(FormerUsername::digest),
            "by": self.by,
            "method": self.method,
            "reason": self.reason,
            "rows": self.rows,
            "count": self.count,
            "after_revision": ended.map(|ended| ended.after_revision),
            "sessions": ended.map(|ended| ended.sessions),
            "links": ended.map(|ended| ended.links),
            "second_factors": ended.map(|ended| ended.second_factors),
            "api_keys": ended.map(|ended| ended.api_keys),
            "removed_through": removal.map(|removal| removal.removed_through),
            "removed_before": removal.map(|removal| removal.removed_before),
            "retention_days": removal.map(|removal| removal.retention_days),
            "user_created_at": self.user_created_at,
        });
        if let Value::Object(fields) = &mut details {
            fields.retain(|_, value| !value.is_null());
        }
        details.to_string()
    }
}
