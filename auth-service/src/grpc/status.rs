//! The one place where outcomes of use cases become gRPC statuses.

use crate::{accounts::AccountError, store::StoreError};
use auth_proto::{ERROR_DOMAIN, Reason};
use std::{collections::HashMap, error::Error, time::Duration};
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt};

impl From<AccountError> for Status {
    fn from(error: AccountError) -> Self {
        let reason = reason_of(&error);
        match reason {
            // The caller learns that it was us; the cause stands here and nowhere else.
            Reason::Internal | Reason::StoreUnavailable => {
                tracing::error!(cause = %Causes(&error), "a call failed");
            }
            _ => tracing::debug!(reason = reason.as_str(), "a call was refused"),
        }
        let text = match reason {
            Reason::Internal => "internal error".to_owned(),
            _ => error.to_string(),
        };
        let mut details =
            ErrorDetails::with_error_info(reason.as_str(), ERROR_DOMAIN, HashMap::new());
        if let Some(delay) = retry_after(&error) {
            details.set_retry_info(Some(delay));
        }
        Status::with_error_details(reason.code(), text, details)
    }
}

/// The contract's reason for an outcome.
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
        AccountError::RequestInvalid(_) => Reason::RequestInvalid,
        AccountError::RegistrationClosed => Reason::RegistrationClosed,
        AccountError::TooManyAttempts { .. } => Reason::TooManyAttempts,
        AccountError::Overloaded { .. } => Reason::Overloaded,
        AccountError::Store(StoreError::Unavailable(_) | StoreError::TimedOut) => {
            Reason::StoreUnavailable
        }
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

/// An error and what caused it, for the log.
struct Causes<'a>(&'a (dyn Error + 'static));

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(formatter, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}
