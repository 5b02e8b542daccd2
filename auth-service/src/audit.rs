//! Who did what, for those who must be able to tell: one line for each event, of the target `audit`,
//! written whatever `RUST_LOG` says. The request's id is added by the log, the client's address here.
//! Never a secret, and never a name that nobody has: people type passwords into the wrong field.

use crate::user::User;
use rolegate_proto::Role;
use rolegate_telemetry::audit_line;

/// How somebody showed who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// `POST /login`: they got a token.
    Login,
    /// HTTP Basic; successes only when the password was really checked, not remembered.
    Basic,
    /// A change of the own password: the current one was checked.
    PasswordChange,
}

/// Why somebody was not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nobody has this name.
    UnknownUser,
    /// It is not the user's password.
    WrongPassword,
    /// The limit on guessing was reached; told once for each window of a minute.
    TooManyAttempts,
}

/// What is told. An event that is added here has its own `match` arm and nothing else.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A user was created.
    Registered {
        /// Who.
        user: &'a User,
    },
    /// A password was right.
    LoginOk {
        /// Whose.
        user: &'a User,
        /// Where it was shown.
        method: AuthMethod,
    },
    /// A password was wrong, or not looked at.
    LoginFailed {
        /// Whose it was said to be, if there is such a user.
        user: Option<&'a User>,
        /// Where it was shown.
        method: AuthMethod,
        /// Why.
        reason: Failure,
    },
    /// An admin set the role of a user.
    RoleChanged {
        /// The admin.
        actor: &'a User,
        /// The user, as they are now.
        user: &'a User,
        /// Their role before.
        from: Role,
    },
    /// A user changed the own password.
    PasswordChanged {
        /// Who.
        user: &'a User,
    },
    /// An admin set the password of a user.
    PasswordSet {
        /// The admin.
        actor: &'a User,
        /// The user.
        user: &'a User,
    },
    /// An admin deleted a user.
    UserDeleted {
        /// The admin.
        actor: &'a User,
        /// Who it was, with the role at the end.
        user: &'a User,
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
            Self::TooManyAttempts => "too_many_attempts",
        }
    }
}

/// Tells of an event.
pub fn record(event: Event<'_>) {
    match event {
        Event::Registered { user } => {
            audit_line!("registered", user_id = user.id, username = user.username);
        }
        Event::LoginOk { user, method } => {
            audit_line!(
                "login_ok",
                user_id = user.id,
                username = user.username,
                method = method.as_str()
            );
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
                actor_id = actor.id,
                actor = actor.username,
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
                actor_id = actor.id,
                actor = actor.username,
            );
        }
        Event::UserDeleted { actor, user } => {
            audit_line!(
                "user_deleted",
                user_id = user.id,
                username = user.username,
                role = user.role.as_str(),
                actor_id = actor.id,
                actor = actor.username,
            );
        }
    }
}
