//! The errors of the use cases.

use super::{rate_limit::LimitExceeded, username::UsernameError};
use crate::{
    api_key::ApiKeyError,
    password::{HashError, PasswordError},
    store::{StoreError, WriteError},
    token::{InvalidToken, SigningError},
};
use rolegate_proto::RefusalScope;
use std::time::Duration;

/// A use case failed. Maps one to one to the reasons of the contract.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The username exists.
    #[error("the username is taken")]
    UsernameTaken,
    /// The username breaks this rule.
    #[error("{0}")]
    UsernameInvalid(#[from] UsernameError),
    /// The password breaks this rule.
    #[error("{0}")]
    PasswordInvalid(#[from] PasswordError),
    /// Unknown username or wrong password.
    #[error("unknown username or wrong password")]
    CredentialsInvalid,
    /// The access token is malformed, forged, revoked or expired, or the API key is not a good one.
    #[error("the access token is invalid")]
    TokenInvalid,
    /// The access token is valid, but its user does not exist.
    #[error("the user of the access token does not exist")]
    TokenUserNotFound,
    /// The stored role or that of the API key may not do this, or no API key may.
    #[error("the role is insufficient")]
    RoleInsufficient,
    /// No user has this id.
    #[error("no user has this id")]
    UserNotFound,
    /// The role is none of `user`, `author`, `admin`.
    #[error("the role is unknown")]
    RoleInvalid,
    /// The user is the actor, or the one named `admin`.
    #[error("this user cannot be deleted")]
    UserNotDeletable,
    /// No admin would be left.
    #[error("no admin would be left")]
    LastAdmin,
    /// The user is the actor.
    #[error("admins change their own password with the current one")]
    OwnPassword,
    /// The current password does not match.
    #[error("the current password is wrong")]
    CurrentPasswordWrong,
    /// The API key to create breaks this rule.
    #[error("{0}")]
    ApiKeyInvalid(#[from] ApiKeyError),
    /// The user has too many API keys.
    #[error("the user has too many API keys")]
    ApiKeyLimit,
    /// The user has no API key with this id.
    #[error("the user has no API key with this id")]
    ApiKeyNotFound,
    /// The request breaks the contract.
    #[error("{0}")]
    RequestInvalid(&'static str),
    /// Registration is turned off.
    #[error("registration is closed")]
    RegistrationClosed,
    /// Too many login failures or registrations.
    #[error("too many attempts")]
    TooManyAttempts {
        /// When to retry.
        retry_after: Duration,
        /// What else is refused until then.
        scope: Option<RefusalScope>,
    },
    /// A login would have to wait beyond its deadline for the time of the user's last revocation.
    #[error("the clock is behind the time of the user's last revocation")]
    ClockBehind {
        /// When to retry.
        retry_after: Duration,
    },
    /// The password engine has no capacity before the deadline.
    #[error("cannot be done before the deadline")]
    Overloaded {
        /// When to retry.
        retry_after: Duration,
        /// What else is refused until then.
        scope: Option<RefusalScope>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A bug or a failure of the system.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<WriteError> for AccountError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::UsernameTaken => Self::UsernameTaken,
            WriteError::UserNotFound => Self::UserNotFound,
            WriteError::ActorNotFound => Self::TokenUserNotFound,
            WriteError::NotAdmin => Self::RoleInsufficient,
            WriteError::LastAdmin => Self::LastAdmin,
            WriteError::ApiKeyLimit => Self::ApiKeyLimit,
            WriteError::Store(error) => Self::Store(error),
        }
    }
}

impl From<HashError> for AccountError {
    fn from(error: HashError) -> Self {
        match error {
            HashError::Overloaded { retry_after, scope } => Self::Overloaded { retry_after, scope },
            HashError::UnknownPepper(cause) => Self::Internal(Box::new(cause)),
            HashError::Failed(cause) => Self::Internal(Box::new(cause)),
        }
    }
}

impl From<LimitExceeded> for AccountError {
    fn from(exceeded: LimitExceeded) -> Self {
        let LimitExceeded { retry_after, scope, .. } = exceeded;
        Self::TooManyAttempts { retry_after, scope }
    }
}

impl From<InvalidToken> for AccountError {
    fn from(InvalidToken: InvalidToken) -> Self {
        Self::TokenInvalid
    }
}

impl From<SigningError> for AccountError {
    fn from(error: SigningError) -> Self {
        Self::Internal(Box::new(error))
    }
}
