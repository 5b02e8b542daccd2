//! Every way in which a use case can end without success.

use super::{UsernameError, rate_limit::LimitExceeded};
use crate::{
    password::{HashError, PasswordError},
    store::{ActorError, InsertError, StoreError},
    token::{SigningError, TokenError},
};
use std::time::Duration;

/// Why a use case did not succeed. One to one with the reasons of the contract.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The username has an owner already.
    #[error("the username is taken")]
    UsernameTaken,
    /// The username breaks this rule.
    #[error("{0}")]
    UsernameInvalid(UsernameError),
    /// The password breaks this rule.
    #[error("{0}")]
    PasswordInvalid(PasswordError),
    /// Unknown username or wrong password.
    #[error("unknown username or wrong password")]
    CredentialsInvalid,
    /// The access token is malformed, forged or expired.
    #[error("the access token is not valid")]
    TokenInvalid,
    /// The access token is good, but its user is gone.
    #[error("the user of the access token is gone")]
    TokenUserNotFound,
    /// The stored role is not among the allowed ones.
    #[error("the role does not suffice")]
    RoleInsufficient,
    /// Nobody has this id.
    #[error("no user has this id")]
    UserNotFound,
    /// The role is none of `user`, `author`, `admin`.
    #[error("not a role")]
    RoleInvalid,
    /// The user is the one who asks, or the one named `admin`.
    #[error("this user cannot be deleted")]
    UserNotDeletable,
    /// The current password is not the one that was given.
    #[error("the current password is wrong")]
    CurrentPasswordWrong,
    /// The request lacks what it must say.
    #[error("{0}")]
    RequestInvalid(&'static str),
    /// Nobody may register here.
    #[error("registration is closed")]
    RegistrationClosed,
    /// Too many failed guesses, or registrations.
    #[error("too many attempts")]
    TooManyAttempts {
        /// When to try again.
        retry_after: Duration,
    },
    /// No capacity in time.
    #[error("no capacity to hash a password in time")]
    Overloaded {
        /// When to try again.
        retry_after: Duration,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A fault of ours.
    #[error("an internal fault")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<InsertError> for AccountError {
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::UsernameTaken => Self::UsernameTaken,
            InsertError::Store(error) => Self::Store(error),
        }
    }
}

impl From<ActorError> for AccountError {
    fn from(error: ActorError) -> Self {
        match error {
            ActorError::NotFound => Self::TokenUserNotFound,
            ActorError::NotAdmin => Self::RoleInsufficient,
            ActorError::Store(error) => Self::Store(error),
        }
    }
}

impl From<HashError> for AccountError {
    fn from(error: HashError) -> Self {
        match error {
            HashError::Overloaded { retry_after } => Self::Overloaded { retry_after },
            HashError::Failed(cause) => Self::Internal(Box::new(cause)),
        }
    }
}

impl From<LimitExceeded> for AccountError {
    fn from(many: LimitExceeded) -> Self {
        Self::TooManyAttempts { retry_after: many.retry_after }
    }
}

impl From<TokenError> for AccountError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Invalid => Self::TokenInvalid,
            TokenError::NoSuchUser => Self::TokenUserNotFound,
        }
    }
}

impl From<SigningError> for AccountError {
    fn from(error: SigningError) -> Self {
        Self::Internal(Box::new(error))
    }
}
