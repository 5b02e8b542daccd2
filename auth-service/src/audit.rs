//! What happens to users and their credentials: each is a line of the audit log and a row of the record.
//! The line has the target `audit`, regardless of `RUST_LOG`, and gets the request id from the request
//! context. The row of a change is written in its transaction, those of sign-ins and refusals behind.
//!
//! Neither contains secrets or unknown usernames, because users type passwords into the wrong field.
//!
//! - `sign_ins`, `cross_site`: the events that strangers can cause.
//! - `sign_in_rows`, `row_quota`: which of these get a row.
//! - `former_username`: a name in the record beside that of the user.

mod cross_site;
mod former_username;
mod row_quota;
mod sign_in_rows;
mod sign_ins;

pub(crate) use cross_site::cross_site_denied;
pub(crate) use former_username::{FORMER_DIGEST, FormerUsername, salted_digest};
pub(crate) use sign_in_rows::{SignInRows, UnrecordedRefusal};
pub(crate) use sign_ins::{
    access_denied, api_key_refused, api_key_used, is_key_refusal_due, login_failed, login_ok,
    password_link_refused, refusals_not_recorded,
};

use crate::{
    actor::Actor,
    opaque_token::{OpaqueToken, TokenKind},
    user::User,
};
use rolegate_proto::Role;
use rolegate_telemetry::{audit_line, request_context::RequestContext};
use serde_json::{Value, json};
use std::{iter, net::IpAddr};

/// The event of a change of the name, which has two names.
pub(crate) const USER_RENAMED: &str = "user_renamed";

/// The events that a row of the record can have.
pub(crate) const EVENTS: [&str; 32] = [
    "registered",
    "user_created",
    "user_imported",
    "role_changed",
    "password_changed",
    "password_set",
    "password_link_created",
    "password_set_by_link",
    "second_factor_begun",
    "second_factor_enabled",
    "second_factor_disabled",
    "second_factor_removed",
    "recovery_code_used",
    USER_RENAMED,
    "user_disabled",
    "user_enabled",
    "user_deleted",
    "tokens_revoked",
    "api_key_created",
    "api_key_deleted",
    "session_created",
    "session_ended",
    "login_ok",
    "login_failed",
    "api_key_refused",
    "password_link_refused",
    "refusals_not_recorded",
    "audit_erased",
    "audit_pruned",
    "audit_begins",
    "all_ended",
    "restored",
];

/// A change of users or their opaque tokens.
#[derive(Clone, Debug)]
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
    PasswordLinkCreated,
    PasswordSetByLink,
    SecondFactorBegun,
    SecondFactorEnabled,
    /// By the user.
    SecondFactorDisabled,
    /// By somebody else.
    SecondFactorRemoved,
    RecoveryCodeUsed,
    UserRenamed {
        from: FormerUsername,
    },
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
    /// Every session, link and token of everybody, in a running database.
    AllEnded,
    /// The same, in a database that was restored from a backup.
    Restored,
}

#[derive(Clone, Debug)]
pub(crate) enum By {
    Actor(Actor),
    /// The user who is changed, whom the line names once, by this session.
    Owner(Option<i64>),
    /// Each of the sessions that are changed, whose token was presented; their users.
    Sessions(Vec<User>),
    /// Who has access to the database, and no account.
    Operator,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    change: Change,
    /// A second change in the same transaction.
    second: Option<Change>,
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
    /// The name that a renamed user had before.
    pub(crate) former_username: Option<FormerUsername>,
    pub(crate) by: Option<&'static str>,
    /// What a password was checked for.
    pub(crate) method: Option<&'static str>,
    pub(crate) reason: Option<&'static str>,
    /// Rows of which something was erased.
    pub(crate) rows: Option<usize>,
    /// Refusals without rows.
    pub(crate) count: Option<u64>,
    pub(crate) ended: Option<Ended>,
    pub(crate) removal: Option<Removal>,
    /// When a deleted user was made, in Unix seconds; 0 if it was not kept. Other services tell by it the user from
    /// another who is imported with the same id. Only in the record.
    pub(crate) user_created_at: Option<u64>,
}

/// What an end of all credentials has ended, besides every access token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The last revision of the record before. Those between it and the revision of this row are left out.
    pub(crate) after_revision: i64,
    pub(crate) sessions: i64,
    /// Password links.
    pub(crate) links: i64,
    /// Second factors that their users had begun to turn on.
    pub(crate) second_factors: i64,
    pub(crate) api_keys: i64,
}

/// What retention has removed from the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    /// The revision of the last row that is removed.
    pub(crate) removed_through: i64,
    /// The removed rows are from before this time, in Unix seconds.
    pub(crate) removed_before: i64,
    /// The setting `AUDIT_RETENTION_DAYS` of the process that removed them.
    pub(crate) retention_days: u32,
}

impl Change {
    pub(crate) fn disabled(disabled: bool) -> Self {
        if disabled {
            Self::UserDisabled
        } else {
            Self::UserEnabled
        }
    }

    /// Its name, and whether it changes what other services keep of a user: name, role, state.
    fn event(&self) -> (&'static str, bool) {
        match self {
            Self::Registered => ("registered", true),
            Self::UserCreated => ("user_created", true),
            Self::UserImported => ("user_imported", true),
            Self::RoleChanged { .. } => ("role_changed", true),
            Self::PasswordChanged => ("password_changed", false),
            Self::PasswordSet => ("password_set", false),
            Self::PasswordLinkCreated => ("password_link_created", false),
            Self::PasswordSetByLink => ("password_set_by_link", false),
            Self::SecondFactorBegun => ("second_factor_begun", false),
            Self::SecondFactorEnabled => ("second_factor_enabled", false),
            Self::SecondFactorDisabled => ("second_factor_disabled", false),
            Self::SecondFactorRemoved => ("second_factor_removed", false),
            Self::RecoveryCodeUsed => ("recovery_code_used", false),
            Self::UserRenamed { .. } => (USER_RENAMED, true),
            Self::UserDisabled => ("user_disabled", true),
            Self::UserEnabled => ("user_enabled", true),
            Self::UserDeleted => ("user_deleted", true),
            Self::TokensRevoked => ("tokens_revoked", false),
            Self::ApiKeyCreated => ("api_key_created", false),
            Self::ApiKeyDeleted => ("api_key_deleted", false),
            Self::SessionCreated => ("session_created", false),
            Self::SessionEnded => ("session_ended", false),
            Self::AuditErased => ("audit_erased", false),
            Self::AllEnded => ("all_ended", false),
            Self::Restored => ("restored", false),
        }
    }
}

impl Write {
    pub(crate) fn new(change: Change, by: By, user_id: Option<i64>) -> Self {
        let (request_id, client_address) = origin();
        Self {
            change,
            second: None,
            by,
            user_id,
            client_address,
            request_id,
        }
    }

    /// The same write, which makes a second change too.
    pub(crate) fn and(self, second: Option<Change>) -> Self {
        Self { second, ..self }
    }

    /// Another change by the same request.
    pub(crate) fn followed_by(self, change: Change) -> Self {
        Self {
            change,
            second: None,
            ..self
        }
    }

    /// All changes of this user, who is given as changed.
    pub(crate) fn all_of_user(&self, user: &User) -> Vec<Entry> {
        let second = self.second.clone();
        let second = second.map(|change| self.clone().followed_by(change).of_user(user));
        iter::once(self.of_user(user)).chain(second).collect()
    }

    /// The change of this user, who is given as changed.
    pub(crate) fn of_user(&self, user: &User) -> Entry {
        let role = Some(user.role);
        let mut former_username = None;
        let [role, from, to] = match &self.change {
            Change::RoleChanged { from } => [None, Some(*from), role],
            Change::UserRenamed { from } => {
                former_username = Some(from.clone());
                [None; 3]
            }
            Change::UserCreated
            | Change::UserImported
            | Change::UserDisabled
            | Change::UserEnabled
            | Change::UserDeleted
            | Change::TokensRevoked => [role, None, None],
            _ => [None; 3],
        };
        let state = self.change.event().1.then_some((user.role, user.disabled));
        let is_deletion = matches!(self.change, Change::UserDeleted);
        let details = Details {
            role,
            from,
            to,
            former_username,
            user_created_at: is_deletion.then(|| user.created_at.unwrap_or_default()),
            ..Details::default()
        };
        Entry {
            state,
            ..self.entry(Some(user.id), Some(&user.username), details)
        }
    }

    /// The change of the role of this user, who is enabled for all that is known before.
    pub(crate) fn of_role(&self, id: i64, role: Role) -> Entry {
        let from = if let Change::RoleChanged { from } = self.change {
            Some(from)
        } else {
            None
        };
        let details = Details {
            from,
            to: Some(role),
            ..Details::default()
        };
        Entry {
            state: Some((role, false)),
            ..self.entry(Some(id), None, details)
        }
    }

    /// The change of this token. The name of its user is for the line.
    pub(crate) fn of_token(&self, token: &OpaqueToken, username: Option<&str>) -> Entry {
        let is_key = token.kind() == TokenKind::ApiKey;
        let (key_id, session_id) = if is_key {
            (Some(token.id), None)
        } else {
            (None, Some(token.id))
        };
        let session = session_id.map(|_| token.prefix.clone());
        let details = Details {
            key_id,
            session_id,
            session,
            ..Details::default()
        };
        self.entry(Some(token.user_id), username, details)
    }

    /// That this many rows about a deleted user were erased.
    pub(crate) fn of_erasure(&self, user_id: i64, rows: usize) -> Entry {
        self.entry(
            Some(user_id),
            None,
            Details {
                rows: Some(rows),
                ..Details::default()
            },
        )
    }

    /// The end of all credentials, which is about no user in particular.
    pub(crate) fn of_end(&self, ended: Ended) -> Entry {
        let details = Details {
            ended: Some(ended),
            ..Details::default()
        };
        self.entry(None, None, details)
    }

    fn entry(&self, user_id: Option<i64>, username: Option<&str>, details: Details) -> Entry {
        let key = if let By::Actor(actor) = &self.by {
            actor.key_id()
        } else {
            None
        };
        let user = match &self.by {
            By::Actor(actor) => Some(&actor.user),
            By::Sessions(users) => users.iter().find(|user| Some(user.id) == user_id),
            By::Owner(_) | By::Operator => None,
        };
        Entry {
            event: self.change.event().0,
            user_id,
            username: username.map(str::to_owned),
            actor: user.map(|user| (user.id, user.username.clone())),
            by_owner: matches!(self.by, By::Owner(_)),
            actor_key: key,
            actor_session: match &self.by {
                By::Actor(actor) => actor.session_id(),
                By::Owner(session) => *session,
                By::Sessions(_) => details.session_id,
                By::Operator => None,
            },
            client_address: self.client_address,
            request_id: self.request_id.clone(),
            details: Details {
                by: self.operator(),
                ..details
            },
            state: None,
        }
    }

    /// Writes the line of each change of this user.
    pub(crate) fn record_user(&self, user: &User) {
        for entry in self.all_of_user(user) {
            entry.log();
        }
    }

    /// Writes the line that the database has not answered the commit: the change may be made, also later.
    pub(crate) fn record_unknown(&self) {
        let actor_id = match &self.by {
            By::Actor(actor) => Some(actor.user.id),
            By::Owner(_) => self.user_id,
            By::Sessions(_) | By::Operator => None,
        };
        let (change, user_id, by) = (self.change.event().0, self.user_id, self.operator());
        audit_line!("outcome_unknown", change, user_id, actor_id, by);
    }

    fn operator(&self) -> Option<&'static str> {
        matches!(self.by, By::Operator).then_some("operator")
    }
}

/// The request of the current task.
fn origin() -> (Option<String>, Option<IpAddr>) {
    let origin = RequestContext::with_current(|current| {
        (
            current.request_id.to_str().ok().map(str::to_owned),
            current.client_address,
        )
    });
    origin.unwrap_or_default()
}

impl Details {
    /// As a JSON object.
    pub(crate) fn to_json(&self) -> String {
        let Self {
            key_id,
            session_id,
            session,
            role,
            from,
            to,
            former_username,
            by,
            method,
            reason,
            rows,
            count,
            ended,
            removal,
            user_created_at,
        } = self;
        let [role, from, to] = [role, from, to].map(|role| role.as_ref().map(Role::as_str));
        let mut details = json!({
            "key_id": key_id, "session_id": session_id, "session": session, "role": role, "from": from,
            "to": to, FORMER_DIGEST: former_username.as_ref().map(FormerUsername::digest), "by": by, "method": method, "reason": reason, "rows": rows, "count": count,
            "after_revision": ended.map(|it| it.after_revision), "sessions": ended.map(|it| it.sessions),
            "links": ended.map(|it| it.links), "second_factors": ended.map(|it| it.second_factors),
            "api_keys": ended.map(|it| it.api_keys), "user_created_at": user_created_at,
            "removed_through": removal.map(|it| it.removed_through),
            "removed_before": removal.map(|it| it.removed_before),
            "retention_days": removal.map(|it| it.retention_days),
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
        Self {
            event,
            user_id,
            username,
            client_address,
            request_id,
            details,
            ..Self::default()
        }
    }

    /// Writes the line.
    pub(crate) fn log(&self) {
        let Details {
            key_id,
            session_id,
            session,
            role,
            from,
            to,
            former_username,
            by,
            method,
            reason,
            rows,
            count,
            ended,
            removal,
            user_created_at: _,
        } = &self.details;
        let [role, mut from, mut to] = [role, from, to].map(|role| role.as_ref().map(Role::as_str));
        if let Some(former) = former_username {
            from = Some(&former.name);
            to = self.username.as_deref();
        }
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
            count,
            after_revision = ended.map(|it| it.after_revision),
            sessions = ended.map(|it| it.sessions),
            links = ended.map(|it| it.links),
            second_factors = ended.map(|it| it.second_factors),
            api_keys = ended.map(|it| it.api_keys),
            removed_through = removal.map(|it| it.removed_through),
            removed_before = removal.map(|it| it.removed_before),
            retention_days = removal.map(|it| it.retention_days),
        );
    }
}
