//! The error of the use cases, with the message that gRPC callers see.

use super::rate_limit::LimitExceeded;
use crate::{
    password::{HashError, PasswordError},
    store::{NamingKey, StoreError, WriteError},
};
use rolegate_proto::Reason;
use std::{borrow::Cow, error::Error, time::Duration};

/// The maximum number of API keys that the error of a group in use names.
const MAX_NAMED_KEYS: usize = 10;

/// The maximum length of each name in that error, in bytes. The whole text must fit into the header of a gRPC status.
const MAX_NAME_LENGTH: usize = 80;

/// The error of a use case. Each variant has a [`Reason`] of the contract.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccountError {
    #[error("{}", message(*.0))]
    Refused(Reason),
    /// An argument is invalid; `rule` is the text of the rule that it breaks.
    #[error("{rule}")]
    Invalid {
        reason: Reason,
        rule: Cow<'static, str>,
    },
    #[error("{0}")]
    PasswordInvalid(#[from] PasswordError),
    /// A stream of changes cannot continue past this change, because its row cannot be read.
    #[error("the change of revision {revision} cannot be read")]
    UnreadableChange { revision: i64 },
    /// The request is refused for now; it may be repeated after `retry_after`.
    #[error("{}", message(*.reason))]
    RetryLater {
        reason: Reason,
        retry_after: Duration,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cause is a bug, a setting that lacks a pepper or a key, or a failure of the system, such
    /// as a lack of random bytes.
    #[error("internal error")]
    Internal(#[source] Box<dyn Error + Send + Sync>),
}

/// Returns the message of a reason for people. Programs compare the reason instead.
fn message(reason: Reason) -> &'static str {
    match reason {
        Reason::UsernameTaken => "the username is taken",
        Reason::CredentialsInvalid => "unknown username or wrong password",
        Reason::OtpRequired => "the user's second factor requires a one-time code",
        Reason::OtpInvalid | Reason::OtpWrong => "the one-time code is wrong or was used before",
        Reason::LinkInvalid => "the password link is unknown, used or expired",
        Reason::PasswordLinkRequired => "admins cannot set passwords here, only make links",
        Reason::SecondFactorUnavailable => "second factors are turned off, or have no key",
        Reason::SecondFactorRequired => "admins need a second factor here",
        Reason::OwnSecondFactor => "admins turn off their own second factor with a code",
        Reason::TokenInvalid => "the access token is invalid",
        Reason::TokenUserNotFound => "the user of the access token does not exist",
        Reason::RoleInsufficient => "neither the role nor a group is sufficient",
        Reason::UserNotFound => "no user has this id",
        Reason::RoleInvalid => "the role is unknown",
        Reason::UserNotRenamable => "this user cannot be renamed",
        Reason::UserNotDeletable => "this user cannot be deleted",
        Reason::LastAdmin => "no enabled admin without an end would be left",
        Reason::OwnPassword => "admins change their own password with the current one",
        Reason::CurrentPasswordWrong => "the current password is wrong",
        Reason::ApiKeyLimit => "the user has too many API keys",
        Reason::ApiKeyNotFound => "the user has no API key with this id",
        Reason::SessionNotFound => "the user has no session with this id",
        Reason::GroupNotFound => "no group has this id",
        Reason::GroupTaken => "another group has the name",
        Reason::GroupLimit => "the user is in too many groups",
        Reason::MembershipNotFound => "the user is not in the group",
        Reason::HistoryUnknown => {
            "the record does not have this seal: it is of another database or a restored one, or retention has \
             removed the seal"
        }
        Reason::SnapshotRequired => "the record does not have the changes after this revision",
        Reason::RegistrationClosed => "registration is closed",
        Reason::TooManyAttempts => "too many attempts",
        Reason::ClockBehind => "the clock is behind the time of the user's last revocation",
        Reason::Overloaded => "the service cannot do this before the deadline",
        other => other.as_str(),
    }
}

impl AccountError {
    pub(super) fn internal(cause: impl Error + Send + Sync + 'static) -> Self {
        Self::Internal(Box::new(cause))
    }

    /// Returns the error for a request that the service has no capacity for now. The client may
    /// repeat the request after `retry_after`.
    pub(super) fn overloaded(retry_after: Duration) -> Self {
        Self::RetryLater {
            reason: Reason::Overloaded,
            retry_after,
        }
    }

    /// Returns the error for an attempt beyond a limit. The limit allows another attempt after `retry_after`.
    pub(super) fn too_many_attempts(retry_after: Duration) -> Self {
        Self::RetryLater {
            reason: Reason::TooManyAttempts,
            retry_after,
        }
    }

    /// Returns the error for an argument that breaks `rule`.
    pub(super) fn invalid(reason: Reason, rule: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid {
            reason,
            rule: rule.into(),
        }
    }

    /// Returns the error for a request that breaks the contract in a way that has no reason of its
    /// own.
    pub(crate) fn invalid_request(rule: &'static str) -> Self {
        Self::invalid(Reason::RequestInvalid, rule)
    }

    /// Returns the error for a request that needs the second factor in another state, such as on
    /// instead of off. `state` is the message, which names the present state.
    pub(super) fn second_factor_state(state: &'static str) -> Self {
        Self::invalid(Reason::SecondFactorState, state)
    }

    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Refused(reason)
            | Self::Invalid { reason, .. }
            | Self::RetryLater { reason, .. } => *reason,
            Self::PasswordInvalid(_) => Reason::PasswordInvalid,
            Self::UnreadableChange { .. } => Reason::SnapshotRequired,
            Self::Store(error) => error.reason(),
            Self::Internal(_) => Reason::Internal,
        }
    }

    /// Returns how long the client should wait before it repeats the request; `None` if this time
    /// is not known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RetryLater { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }
}

impl From<Reason> for AccountError {
    fn from(reason: Reason) -> Self {
        Self::Refused(reason)
    }
}

impl From<WriteError> for AccountError {
    fn from(error: WriteError) -> Self {
        let reason = match error {
            WriteError::UsernameTaken => Reason::UsernameTaken,
            WriteError::UserNotFound => Reason::UserNotFound,
            WriteError::ActorNotFound => Reason::TokenUserNotFound,
            WriteError::NotAdmin => Reason::RoleInsufficient,
            WriteError::LastAdmin => Reason::LastAdmin,
            WriteError::ApiKeyLimit => Reason::ApiKeyLimit,
            WriteError::GroupNotFound => Reason::GroupNotFound,
            WriteError::GroupTaken => Reason::GroupTaken,
            WriteError::GroupLimit => Reason::GroupLimit,
            WriteError::MembershipNotFound => Reason::MembershipNotFound,
            WriteError::GroupInUse(keys) => {
                return Self::invalid(Reason::GroupInUse, describe_naming_keys(&keys));
            }
            WriteError::UserIsAdmin => {
                let rule = "An admin creates their own API keys.";
                return Self::invalid(Reason::ApiKeyInvalid, rule);
            }
            WriteError::TooManyAdditions { retry_after } => {
                return Self::too_many_attempts(retry_after);
            }
            WriteError::SecondFactorOff => {
                return Self::second_factor_state("Second factor is not on.");
            }
            WriteError::Store(error) => return Self::Store(error),
        };
        Self::Refused(reason)
    }
}

/// Says which API keys name a group. Only the first ten are named; the others are counted.
fn describe_naming_keys(keys: &[NamingKey]) -> String {
    let named: Vec<String> = keys
        .iter()
        .take(MAX_NAMED_KEYS)
        .map(|naming| format!("{} ({})", shorten(&naming.key), shorten(&naming.username)))
        .collect();
    let others = match keys.len().saturating_sub(MAX_NAMED_KEYS) {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    format!("Group is named by API keys: {}{others}.", named.join(", "))
}

/// Returns the name, or if it is too long, its first characters and `…`.
fn shorten(name: &str) -> String {
    if name.len() <= MAX_NAME_LENGTH {
        return name.to_owned();
    }
    let end = name.floor_char_boundary(MAX_NAME_LENGTH);
    format!("{}…", &name[..end])
}

impl From<HashError> for AccountError {
    fn from(error: HashError) -> Self {
        match error {
            HashError::Overloaded { retry_after } => Self::overloaded(retry_after),
            HashError::UnknownPepper => Self::internal(error),
            HashError::Failed(cause) => Self::internal(cause),
        }
    }
}

impl From<LimitExceeded> for AccountError {
    fn from(exceeded: LimitExceeded) -> Self {
        Self::too_many_attempts(exceeded.retry_after)
    }
}
