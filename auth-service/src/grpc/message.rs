//! Converts domain values to messages, and errors of the use cases to statuses.

use crate::{accounts::AccountError, api_key::ApiKey, store::StoreError, user::User};
use prost_types::Timestamp;
use rolegate_grpc_server::error_status;
use rolegate_proto::{Reason, RefusalScope, auth_v1};
use std::time::Duration;
use tonic::Status;

impl From<User> for auth_v1::User {
    fn from(user: User) -> Self {
        let User { id, username, role, disabled, .. } = user;
        Self { id, username, role: role.into(), disabled }
    }
}

impl From<User> for auth_v1::UserName {
    fn from(user: User) -> Self {
        Self { id: user.id, username: user.username }
    }
}

impl From<ApiKey> for auth_v1::ApiKey {
    fn from(key: ApiKey) -> Self {
        let ApiKey { id, user_id, name, prefix, role, created_at, expires_at, last_used_at } = key;
        Self {
            id,
            user_id,
            name,
            prefix,
            role: role.map(Into::into),
            created_at: Some(timestamp(created_at)),
            expires_at: expires_at.map(timestamp),
            last_used_at: last_used_at.map(timestamp),
        }
    }
}

fn timestamp(unix_seconds: u64) -> Timestamp {
    Timestamp { seconds: unix_seconds.try_into().unwrap_or(i64::MAX), nanos: 0 }
}

impl From<AccountError> for Status {
    fn from(error: AccountError) -> Self {
        let (retry_after, scope) = retry(&error).unzip();
        error_status(reason_of(&error), &error, retry_after, scope.flatten())
    }
}

/// The reason of the contract.
pub(super) fn reason_of(error: &AccountError) -> Reason {
    match error {
        AccountError::UsernameTaken => Reason::UsernameTaken,
        AccountError::UsernameInvalid(_) => Reason::UsernameInvalid,
        AccountError::PasswordInvalid(_) => Reason::PasswordInvalid,
        AccountError::CredentialsInvalid => Reason::CredentialsInvalid,
        AccountError::TokenInvalid => Reason::TokenInvalid,
        AccountError::TokenUserNotFound => Reason::TokenUserNotFound,
        AccountError::RoleInsufficient => Reason::RoleInsufficient,
        AccountError::UserNotFound => Reason::UserNotFound,
        AccountError::RoleInvalid => Reason::RoleInvalid,
        AccountError::UserNotDeletable => Reason::UserNotDeletable,
        AccountError::LastAdmin => Reason::LastAdmin,
        AccountError::OwnPassword => Reason::OwnPassword,
        AccountError::CurrentPasswordWrong => Reason::CurrentPasswordWrong,
        AccountError::ApiKeyInvalid(_) => Reason::ApiKeyInvalid,
        AccountError::ApiKeyLimit => Reason::ApiKeyLimit,
        AccountError::ApiKeyNotFound => Reason::ApiKeyNotFound,
        AccountError::RequestInvalid(_) => Reason::RequestInvalid,
        AccountError::RegistrationClosed => Reason::RegistrationClosed,
        AccountError::TooManyAttempts { .. } => Reason::TooManyAttempts,
        AccountError::ClockBehind { .. } => Reason::ClockBehind,
        AccountError::Overloaded { .. } => Reason::Overloaded,
        AccountError::Store(StoreError::Unavailable(_) | StoreError::TimedOut) => {
            Reason::StoreUnavailable
        }
        AccountError::Store(StoreError::ReadOnly(_)) => Reason::StoreReadOnly,
        AccountError::Store(StoreError::OutcomeUnknown(..)) => Reason::OutcomeUnknown,
        AccountError::Store(StoreError::Failed(_) | StoreError::Lost(_))
        | AccountError::Internal(_) => Reason::Internal,
    }
}

/// When to retry, and what is refused until then.
pub(super) fn retry(error: &AccountError) -> Option<(Duration, Option<RefusalScope>)> {
    match error {
        AccountError::Overloaded { retry_after, scope }
        | AccountError::TooManyAttempts { retry_after, scope } => Some((*retry_after, *scope)),
        AccountError::ClockBehind { retry_after } => Some((*retry_after, None)),
        _ => None,
    }
}
