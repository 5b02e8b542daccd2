//! Maps the errors of the use cases to gRPC statuses.

use crate::{accounts::AccountError, store::StoreError};
use rolegate_grpc_server::error_status;
use rolegate_proto::{Reason, RefusalScope};
use std::time::Duration;
use tonic::Status;

impl From<AccountError> for Status {
    fn from(error: AccountError) -> Self {
        let scope = retry(&error).and_then(|(_, scope)| scope);
        error_status(reason_of(&error), &error, retry_after(&error), scope)
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
        AccountError::Store(
            StoreError::Unavailable(_) | StoreError::ConnectionLost(_) | StoreError::TimedOut,
        ) => Reason::StoreUnavailable,
        AccountError::Store(StoreError::ReadOnly(_)) => Reason::StoreReadOnly,
        AccountError::Store(StoreError::OutcomeUnknown) => Reason::OutcomeUnknown,
        AccountError::Store(StoreError::Failed(_) | StoreError::Lost(_))
        | AccountError::Internal(_) => Reason::Internal,
    }
}

/// When to retry.
pub(super) fn retry_after(error: &AccountError) -> Option<Duration> {
    retry(error).map(|(delay, _)| delay)
}

/// When to retry, and what is refused until then.
fn retry(error: &AccountError) -> Option<(Duration, Option<RefusalScope>)> {
    match error {
        AccountError::Overloaded { retry_after, scope }
        | AccountError::TooManyAttempts { retry_after, scope } => Some((*retry_after, *scope)),
        AccountError::ClockBehind { retry_after } => Some((*retry_after, None)),
        _ => None,
    }
}
