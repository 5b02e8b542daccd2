//! Maps the errors of the use cases to gRPC statuses.

use crate::{accounts::AccountError, store::StoreError};
use rolegate_grpc_server::error_status;
use rolegate_proto::Reason;
use std::time::Duration;
use tonic::Status;

impl From<AccountError> for Status {
    fn from(error: AccountError) -> Self {
        error_status(reason_of(&error), &error, retry_after(&error))
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
        AccountError::RequestInvalid(_) => Reason::RequestInvalid,
        AccountError::RegistrationClosed => Reason::RegistrationClosed,
        AccountError::TooManyAttempts { .. } => Reason::TooManyAttempts,
        AccountError::Overloaded { .. } => Reason::Overloaded,
        AccountError::Store(StoreError::Unavailable(_) | StoreError::TimedOut) => {
            Reason::StoreUnavailable
        }
        AccountError::Store(StoreError::ReadOnly(_)) => Reason::StoreReadOnly,
        AccountError::Store(StoreError::OutcomeUnknown) => Reason::OutcomeUnknown,
        AccountError::Store(StoreError::Failed(_) | StoreError::Lost(_))
        | AccountError::Internal(_) => Reason::Internal,
    }
}

fn retry_after(error: &AccountError) -> Option<Duration> {
    match error {
        AccountError::Overloaded { retry_after }
        | AccountError::TooManyAttempts { retry_after } => Some(*retry_after),
        _ => None,
    }
}
