//! What happens to users and their credentials: each is a line of the audit log and a row of the record.
//! The line has the target `audit`, regardless of `RUST_LOG`, and gets the request id from the request
//! context. The row of a change is written in its transaction, those of sign-ins and refusals behind.
//!
//! Neither contains secrets or unknown usernames, because users type passwords into the wrong field.

use crate::{
    actor::Actor,
    opaque_token::{OpaqueToken, TokenBearer, TokenKind},
    user::User,
};
use rolegate_proto::{Reason, Role};
use rolegate_telemetry::{audit_line, log_once::LogOnce, request_context::RequestContext};
use serde_json::{Value, json};
use std::{net::IpAddr, time::Duration};

const MINUTE: Duration = Duration::from_mins(1);

/// Keys have one line in a minute for each key and client address, if that is known. A minute has this many
/// lines at most, so that no flood fills the log or the memory.
static KEY_USES: LogOnce<(i64, Option<IpAddr>)> = LogOnce::at_most(1000, MINUTE);
static KEY_REFUSALS: LogOnce<(i64, Option<IpAddr>)> = LogOnce::at_most(1000, MINUTE);
/// Any client can present unknown keys, which must not hide refusals of the others.
static UNKNOWN_KEYS: LogOnce<Option<IpAddr>> = LogOnce::at_most(60, MINUTE);
/// Rows of the record stay for months: a flood of refusals must not fill the disk, nor those without a user
/// hide the others.
static LOGIN_ROWS: LogOnce<(i64, Option<IpAddr>, &str)> = LogOnce::at_most(3000, MINUTE);
static REFUSAL_ROWS: LogOnce<(i64, Option<IpAddr>, &str)> = LogOnce::at_most(60, MINUTE);
static UNKNOWN_ROWS: LogOnce<(Option<IpAddr>, &str)> = LogOnce::at_most(60, MINUTE);

/// A change of users or their opaque tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Registered,
    UserCreated,
    UserImported,
    RoleChanged {
        /// Concurrent changes may both record the role before either.
        from: Role,
    },
    /// Of one's own password.
    PasswordChanged,
    PasswordSet,
    UserDisabled,
    UserEnabled,
    UserDeleted,
    TokensRevoked,
    ApiKeyCreated,
    ApiKeyDeleted,
    SessionCreated,
    SessionEnded,
    /// The names and addresses of a deleted user in the record.
    AuditErased,
}

#[derive(Clone, Debug)]
pub(crate) enum By {
    Actor(Actor),
    /// The user who is changed, whom the line names once, by this session.
    Owner(Option<i64>),
    /// Who has access to the database, and no account.
    Operator,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    change: Change,
    by: By,
    /// The user who is changed; `None` for a new one.
    user_id: Option<i64>,
    client_address: Option<IpAddr>,
    request_id: Option<String>,
}

/// What happened once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) event: &'static str,
    pub(crate) user_id: Option<i64>,
    /// Read with the row of a user who exists if `None`.
    pub(crate) username: Option<String>,
    pub(crate) actor: Option<(i64, String)>,
    /// Whether the actor is the user, who is named once in the line.
    pub(crate) by_owner: bool,
    pub(crate) actor_key: Option<i64>,
    pub(crate) actor_session: Option<i64>,
    pub(crate) client_address: Option<IpAddr>,
    pub(crate) request_id: Option<String>,
    pub(crate) details: Details,
    /// The role of the user, and whether they are disabled, after a change that other services learn of.
    pub(crate) state: Option<(Role, bool)>,
}

/// What is particular to an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    pub(crate) key_id: Option<i64>,
    pub(crate) session_id: Option<i64>,
    /// As denials name it.
    pub(crate) session: Option<String>,
    pub(crate) role: Option<Role>,
    pub(crate) from: Option<Role>,
    pub(crate) to: Option<Role>,
    pub(crate) by: Option<&'static str>,
    /// What a password was checked for.
    pub(crate) method: Option<&'static str>,
    pub(crate) reason: Option<&'static str>,
    /// Rows of which something was erased.
    pub(crate) rows: Option<usize>,
}

impl Change {
    pub(crate) fn disabled(disabled: bool) -> Self {
        if disabled { Self::UserDisabled } else { Self::UserEnabled }
    }

    fn event(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::UserCreated => "user_created",
            Self::UserImported => "user_imported",
            Self::RoleChanged { .. } => "role_changed",
            Self::PasswordChanged => "password_changed",
            Self::PasswordSet => "password_set",
            Self::UserDisabled => "user_disabled",
            Self::UserEnabled => "user_enabled",
            Self::UserDeleted => "user_deleted",
            Self::TokensRevoked => "tokens_revoked",
            Self::ApiKeyCreated => "api_key_created",
            Self::ApiKeyDeleted => "api_key_deleted",
            Self::SessionCreated => "session_created",
            Self::SessionEnded => "session_ended",
            Self::AuditErased => "audit_erased",
        }
    }

    /// Whether the name, the role or the state of a user is another one after it.
    fn is_of_state(self) -> bool {
        !matches!(
            self,
            Self::PasswordChanged
                | Self::PasswordSet
                | Self::TokensRevoked
                | Self::ApiKeyCreated
                | Self::ApiKeyDeleted
                | Self::SessionCreated
                | Self::SessionEnded
                | Self::AuditErased
        )
    }
}

impl Write {
    pub(crate) fn new(change: Change, by: By, user_id: Option<i64>) -> Self {
        let (request_id, client_address) = origin();
        Self { change, by, user_id, client_address, request_id }
    }

    /// Another change by the same request.
    pub(crate) fn followed_by(self, change: Change) -> Self {
        Self { change, ..self }
    }

    /// The change of this user, who is given as changed.
    pub(crate) fn of_user(&self, user: &User) -> Entry {
        let role = Some(user.role);
        let [role, from, to] = match self.change {
            Change::Registered | Change::PasswordChanged | Change::PasswordSet => [None; 3],
            Change::RoleChanged { from } => [None, Some(from), role],
            _ => [role, None, None],
        };
        let state = self.change.is_of_state().then_some((user.role, user.disabled));
        let details = Details { role, from, to, ..Details::default() };
        Entry { state, ..self.entry(user.id, Some(&user.username), details) }
    }

    /// The change of this token. The name of its user is for the line.
    pub(crate) fn of_token(&self, token: &OpaqueToken, username: Option<&str>) -> Entry {
        let is_key = token.kind() == TokenKind::ApiKey;
        let (key_id, session_id) =
            if is_key { (Some(token.id), None) } else { (None, Some(token.id)) };
        let session = session_id.map(|_| token.prefix.clone());
        let details = Details { key_id, session_id, session, ..Details::default() };
        self.entry(token.user_id, username, details)
    }

    /// That this many rows about a deleted user were erased.
    pub(crate) fn of_erasure(&self, user_id: i64, rows: usize) -> Entry {
        self.entry(user_id, None, Details { rows: Some(rows), ..Details::default() })
    }

    fn entry(&self, user_id: i64, username: Option<&str>, details: Details) -> Entry {
        let actor = if let By::Actor(actor) = &self.by { Some(actor) } else { None };
        Entry {
            event: self.change.event(),
            user_id: Some(user_id),
            username: username.map(str::to_owned),
            actor: actor.map(|actor| (actor.user.id, actor.user.username.clone())),
            by_owner: matches!(self.by, By::Owner(_)),
            actor_key: actor.and_then(Actor::key_id),
            actor_session: match &self.by {
                By::Actor(actor) => actor.session_id(),
                By::Owner(session) => *session,
                By::Operator => None,
            },
            client_address: self.client_address,
            request_id: self.request_id.clone(),
            details: Details { by: self.operator(), ..details },
            state: None,
        }
    }

    /// Writes the line of a change of this user.
    pub(crate) fn record_user(&self, user: &User) {
        self.of_user(user).log();
    }

    /// Writes the line that the database has not answered the commit: the change may be made, also later.
    pub(crate) fn record_unknown(&self) {
        let actor_id = match &self.by {
            By::Actor(actor) => Some(actor.user.id),
            By::Owner(_) => self.user_id,
            By::Operator => None,
        };
        let (change, user_id, by) = (self.change.event(), self.user_id, self.operator());
        audit_line!("outcome_unknown", change, user_id, actor_id, by);
    }

    fn operator(&self) -> Option<&'static str> {
        matches!(self.by, By::Operator).then_some("operator")
    }
}

/// The request of the current task.
fn origin() -> (Option<String>, Option<IpAddr>) {
    let origin = RequestContext::with_current(|current| {
        (current.request_id.to_str().ok().map(str::to_owned), current.client_address)
    });
    origin.unwrap_or_default()
}

impl Details {
    /// As a JSON object.
    pub(crate) fn to_json(&self) -> String {
        let Self { key_id, session_id, session, role, from, to, by, method, reason, rows } = self;
        let [role, from, to] = [role, from, to].map(|role| role.as_ref().map(Role::as_str));
        let mut details = json!({
            "key_id": key_id, "session_id": session_id, "session": session, "role": role, "from": from,
            "to": to, "by": by, "method": method, "reason": reason, "rows": rows,
        });
        if let Value::Object(fields) = &mut details {
            fields.retain(|_, value| !value.is_null());
        }
        details.to_string()
    }
}

impl Entry {
    /// An event of this user in the current request.
    fn now(event: &'static str, user: Option<&User>, details: Details) -> Self {
        let (request_id, client_address) = origin();
        let (user_id, username) = (user.map(|it| it.id), user.map(|it| it.username.clone()));
        Self { event, user_id, username, client_address, request_id, details, ..Self::default() }
    }

    /// Writes the line.
    pub(crate) fn log(&self) {
        let Details { key_id, session_id, session, role, from, to, by, method, reason, rows } =
            &self.details;
        let [role, from, to] = [role, from, to].map(|role| role.as_ref().map(Role::as_str));
        audit_line!(
            self.event,
            user_id = self.user_id,
            username = self.username,
            key_id,
            session_id,
            session,
            role,
            from,
            to,
            actor_id = self.actor.as_ref().map(|(id, _)| *id),
            actor = self.actor.as_ref().map(|(_, name)| &**name),
            actor_key = self.actor_key,
            actor_session = self.actor_session,
            by,
            method,
            reason,
            rows,
        );
    }
}

/// Records a right password; the row, if one is due. `method` is what it was checked for.
pub(crate) fn login_ok(user: &User, method: &'static str) -> Option<Entry> {
    let details = Details { method: Some(method), ..Details::default() };
    let entry = Entry { by_owner: true, ..Entry::now("login_ok", Some(user), details) };
    entry.log();
    LOGIN_ROWS.is_due((user.id, entry.client_address, method)).then_some(entry)
}

/// Records a password that was wrong or not checked; the row, if one is due.
pub(crate) fn login_failed(
    user: Option<&User>,
    method: &'static str,
    reason: &'static str,
) -> Option<Entry> {
    let details = Details { method: Some(method), reason: Some(reason), ..Details::default() };
    refused(Entry::now("login_failed", user, details), reason)
}

fn refused(entry: Entry, reason: &'static str) -> Option<Entry> {
    entry.log();
    let client = entry.client_address;
    let is_due = match entry.user_id {
        Some(id) => REFUSAL_ROWS.is_due((id, client, reason)),
        None => UNKNOWN_ROWS.is_due((client, reason)),
    };
    is_due.then_some(entry)
}

/// Records the use of a good key, in the log only.
pub(crate) fn api_key_used(key: &TokenBearer) {
    if KEY_USES.is_due((key.token_id, RequestContext::client_address())) {
        let details = Details { key_id: Some(key.token_id), ..Details::default() };
        Entry::now("api_key_used", Some(&key.user), details).log();
    }
}

/// Records the refusal of a key; `None` for an unknown one. The row, if one is due.
pub(crate) fn api_key_refused(key: Option<&TokenBearer>) -> Option<Entry> {
    let client = RequestContext::client_address();
    let is_due = match key {
        Some(key) => KEY_REFUSALS.is_due((key.token_id, client)),
        None => UNKNOWN_KEYS.is_due(client),
    };
    let user = key.map(|key| &key.user);
    let reason = match user {
        None => "unknown",
        Some(User { disabled: true, .. }) => "disabled",
        Some(_) => "expired",
    };
    let key_id = key.map(|key| key.token_id);
    let details = Details { key_id, reason: Some(reason), ..Details::default() };
    is_due.then(|| Entry::now("api_key_refused", user, details)).and_then(|it| refused(it, reason))
}

/// Records in the log that a proxy was told to refuse a request of this user. `route` is host and path,
/// without the query.
pub(crate) fn access_denied(actor: &User, method: &str, route: &str, required_roles: &str) {
    let reason = Reason::RoleInsufficient.as_str();
    let (actor_id, actor) = (actor.id, &*actor.username);
    audit_line!("access_denied", actor_id, actor, method, route, required_roles, reason);
}
