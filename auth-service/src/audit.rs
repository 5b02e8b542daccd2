//! The audit log: one line per event, with the target `audit`, regardless of `RUST_LOG`. The lines
//! get the request id and the client address from the request context.
//!
//! They contain no secrets and no unknown usernames, because users type passwords into the wrong
//! field.

use crate::{accounts::Actor, api_key::KeyBearer, user::User};
use rolegate_proto::{Reason, Role};
use rolegate_telemetry::audit_line;

/// What a password was checked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    Login,
    /// HTTP Basic. Cached successes are not recorded.
    Basic,
    /// The current password in a change of one's own password.
    PasswordChange,
}

/// Why a password check failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    UnknownUser,
    WrongPassword,
    /// The user is disabled, whatever the password.
    Disabled,
    /// The rate limit was exceeded; recorded once per window.
    TooManyAttempts,
}

/// An audited event. `actor` is the admin, `user` the user after the event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    Registered {
        user: &'a User,
    },
    UserCreated {
        actor: &'a Actor,
        user: &'a User,
    },
    LoginOk {
        user: &'a User,
        method: AuthMethod,
    },
    LoginFailed {
        user: Option<&'a User>,
        method: AuthMethod,
        reason: Failure,
    },
    RoleChanged {
        actor: &'a Actor,
        user: &'a User,
        from: Role,
    },
    PasswordChanged {
        user: &'a User,
    },
    PasswordSet {
        actor: &'a Actor,
        user: &'a User,
    },
    /// Disabled or enabled.
    UserDisabled {
        actor: &'a Actor,
        user: &'a User,
    },
    UserDeleted {
        actor: &'a Actor,
        user: &'a User,
    },
    /// By a logout, or by an admin.
    TokensRevoked {
        actor: &'a Actor,
        user: &'a User,
    },
    ApiKeyCreated {
        user: &'a User,
        key_id: i64,
    },
    /// The first use in a minute from an address.
    ApiKeyUsed {
        user: &'a User,
        key_id: i64,
    },
    /// `None` for an unknown key. The first refusal in a minute from an address.
    ApiKeyRefused {
        key: Option<&'a KeyBearer>,
    },
    /// By its user, or by an admin.
    ApiKeyDeleted {
        actor: &'a Actor,
        user_id: i64,
        key_id: i64,
    },
    /// A proxy was told to refuse a request of this user.
    AccessDenied {
        actor: &'a User,
        method: &'a str,
        /// Host and path, without the query.
        route: &'a str,
        required_roles: &'a str,
    },
    /// The database has not answered the commit of this change: it may be made, also later.
    OutcomeUnknown {
        change: &'static str,
        actor_id: Option<i64>,
        user_id: Option<i64>,
    },
}

impl AuthMethod {
    fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Basic => "basic",
            Self::PasswordChange => "password_change",
        }
    }
}

impl Failure {
    fn as_str(self) -> &'static str {
        match self {
            Self::UnknownUser => "unknown_user",
            Self::WrongPassword => "wrong_password",
            Self::Disabled => "disabled",
            Self::TooManyAttempts => "too_many_attempts",
        }
    }
}

/// Records an event.
pub(crate) fn record(event: Event<'_>) {
    match event {
        Event::Registered { user } => {
            audit_line!("registered", user_id = user.id, username = user.username);
        }
        Event::LoginOk { user, method } => {
            let method = method.as_str();
            audit_line!("login_ok", user_id = user.id, username = user.username, method);
        }
        Event::LoginFailed { user, method, reason } => {
            let (id, name) = (user.map(|user| user.id), user.map(|user| user.username.as_str()));
            let (method, reason) = (method.as_str(), reason.as_str());
            audit_line!("login_failed", user_id = id, username = name, method, reason);
        }
        Event::RoleChanged { actor, user, from } => {
            audit_line!(
                "role_changed",
                user_id = user.id,
                username = user.username,
                from = from.as_str(),
                to = user.role.as_str(),
                actor_id = actor.user.id,
                actor = actor.user.username,
                actor_key = actor.key_id(),
            );
        }
        Event::PasswordChanged { user } => {
            audit_line!("password_changed", user_id = user.id, username = user.username);
        }
        Event::PasswordSet { actor, user } => {
            audit_line!(
                "password_set",
                user_id = user.id,
                username = user.username,
                actor_id = actor.user.id,
                actor = actor.user.username,
                actor_key = actor.key_id(),
            );
        }
        Event::AccessDenied { actor, method, route, required_roles } => {
            audit_line!(
                "access_denied",
                actor_id = actor.id,
                actor = actor.username,
                method,
                route,
                required_roles,
                reason = Reason::RoleInsufficient.as_str(),
            );
        }
        Event::OutcomeUnknown { change, actor_id, user_id } => {
            audit_line!("outcome_unknown", change, user_id, actor_id);
        }
        Event::UserCreated { actor, user } => acted("user_created", actor, user),
        Event::UserDisabled { actor, user } if user.disabled => {
            acted("user_disabled", actor, user);
        }
        Event::UserDisabled { actor, user } => acted("user_enabled", actor, user),
        Event::UserDeleted { actor, user } => acted("user_deleted", actor, user),
        Event::TokensRevoked { actor, user } => acted("tokens_revoked", actor, user),
        Event::ApiKeyCreated { user, key_id } => {
            audit_line!("api_key_created", user_id = user.id, username = user.username, key_id);
        }
        Event::ApiKeyUsed { user, key_id } => {
            audit_line!("api_key_used", user_id = user.id, username = user.username, key_id);
        }
        Event::ApiKeyRefused { key } => {
            let user = key.map(|key| &key.user);
            let reason = match user {
                None => "unknown",
                Some(User { disabled: true, .. }) => "disabled",
                Some(_) => "expired",
            };
            audit_line!(
                "api_key_refused",
                user_id = user.map(|user| user.id),
                username = user.map(|user| user.username.as_str()),
                key_id = key.map(|key| key.key_id),
                reason,
            );
        }
        Event::ApiKeyDeleted { actor, user_id, key_id } => {
            audit_line!(
                "api_key_deleted",
                user_id,
                key_id,
                actor_id = actor.user.id,
                actor = actor.user.username,
                actor_key = actor.key_id(),
            );
        }
    }
}

/// What an admin did to a user as a whole.
fn acted(event: &'static str, actor: &Actor, user: &User) {
    audit_line!(
        event,
        user_id = user.id,
        username = user.username,
        role = user.role.as_str(),
        actor_id = actor.user.id,
        actor = actor.user.username,
        actor_key = actor.key_id(),
    );
}
