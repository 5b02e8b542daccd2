//! The audit log: one line per event, with the target `audit`, regardless of `RUST_LOG`. The lines
//! get the request id and the client address from the request context.
//!
//! They contain no secrets and no unknown usernames, because users type passwords into the wrong
//! field.

use crate::{
    actor::Actor,
    opaque_token::{OpaqueToken, TokenBearer, TokenKind},
    user::User,
};
use rolegate_proto::{Reason, Role};
use rolegate_telemetry::{audit_line, log_once::LogOnce, request_context::RequestContext};
use std::{net::IpAddr, time::Duration};

const MINUTE: Duration = Duration::from_mins(1);

/// Keys have one line in a minute for each key and client address, if that is known. A minute has this many
/// lines at most, so that no flood fills the log or the memory.
static KEY_USES: LogOnce<(i64, Option<IpAddr>)> = LogOnce::at_most(1000, MINUTE);
static KEY_REFUSALS: LogOnce<(i64, Option<IpAddr>)> = LogOnce::at_most(1000, MINUTE);
/// Any client can present unknown keys, which must not hide refusals of the others.
static UNKNOWN_KEYS: LogOnce<Option<IpAddr>> = LogOnce::at_most(60, MINUTE);

/// A change of users or their opaque tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Registered,
    UserCreated,
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
    pub(crate) change: Change,
    pub(crate) by: By,
    /// The user who is changed; `None` for a new one.
    pub(crate) user_id: Option<i64>,
}

impl Change {
    pub(crate) fn disabled(disabled: bool) -> Self {
        if disabled { Self::UserDisabled } else { Self::UserEnabled }
    }

    fn event(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::UserCreated => "user_created",
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
        }
    }
}

impl Write {
    /// Records the change of this user, who is given as changed.
    pub(crate) fn record_user(&self, user: &User) {
        let role = Some(user.role.as_str());
        let roles = match &self.change {
            Change::Registered | Change::PasswordChanged | Change::PasswordSet => [None; 3],
            Change::RoleChanged { from } => [None, Some(from.as_str()), role],
            _ => [role, None, None],
        };
        self.record(user.id, Some(&user.username), None, roles);
    }

    /// Records the change of this token. The name of its user is for the line.
    pub(crate) fn record_token(&self, token: &OpaqueToken, username: Option<&str>) {
        self.record(token.user_id, username, Some(token), [None; 3]);
    }

    fn record(
        &self,
        user_id: i64,
        username: Option<&str>,
        token: Option<&OpaqueToken>,
        [role, from, to]: [Option<&str>; 3],
    ) {
        let actor = if let By::Actor(actor) = &self.by { Some(actor) } else { None };
        let of_kind = |kind| token.filter(|token| token.kind() == kind);
        let key_id = of_kind(TokenKind::ApiKey).map(|key| key.id);
        let session = of_kind(TokenKind::Session);
        audit_line!(
            self.change.event(),
            user_id,
            username,
            key_id,
            session_id = session.map(|session| session.id),
            // As denials name it.
            session = session.map(|session| &*session.prefix),
            role,
            from,
            to,
            actor_id = actor.map(|actor| actor.user.id),
            actor = actor.map(|actor| &*actor.user.username),
            actor_key = actor.and_then(Actor::key_id),
            actor_session = match &self.by {
                By::Actor(actor) => actor.session_id(),
                By::Owner(session) => *session,
                By::Operator => None,
            },
            by = self.operator(),
        );
    }

    /// Records that the database has not answered the commit: the change may be made, also later.
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

/// Records a right password. `method` is what it was checked for.
pub(crate) fn login_ok(user: &User, method: &str) {
    audit_line!("login_ok", user_id = user.id, username = user.username, method);
}

/// Records a password that was wrong or not checked.
pub(crate) fn login_failed(user: Option<&User>, method: &str, reason: &str) {
    let (user_id, username) = (user.map(|user| user.id), user.map(|user| &*user.username));
    audit_line!("login_failed", user_id, username, method, reason);
}

/// Records the use of a good key.
pub(crate) fn api_key_used(key: &TokenBearer) {
    let (user, key_id) = (&key.user, key.token_id);
    if KEY_USES.is_due((key_id, RequestContext::client_address())) {
        audit_line!("api_key_used", user_id = user.id, username = user.username, key_id);
    }
}

/// Records the refusal of a key; `None` for an unknown one.
pub(crate) fn api_key_refused(key: Option<&TokenBearer>) {
    let client = RequestContext::client_address();
    let is_due = match key {
        Some(key) => KEY_REFUSALS.is_due((key.token_id, client)),
        None => UNKNOWN_KEYS.is_due(client),
    };
    if !is_due {
        return;
    }
    let user = key.map(|key| &key.user);
    let reason = match user {
        None => "unknown",
        Some(User { disabled: true, .. }) => "disabled",
        Some(_) => "expired",
    };
    let (user_id, username) = (user.map(|user| user.id), user.map(|user| &*user.username));
    audit_line!("api_key_refused", user_id, username, key_id = key.map(|key| key.token_id), reason);
}

/// Records that a proxy was told to refuse a request of this user. `route` is host and path, without the
/// query.
pub(crate) fn access_denied(actor: &User, method: &str, route: &str, required_roles: &str) {
    let reason = Reason::RoleInsufficient.as_str();
    let (actor_id, actor) = (actor.id, &*actor.username);
    audit_line!("access_denied", actor_id, actor, method, route, required_roles, reason);
}
