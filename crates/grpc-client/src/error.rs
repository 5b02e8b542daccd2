//! Defines the errors of calls.

use rolegate_proto::{ERROR_DOMAIN, Reason};
use std::time::Duration;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// A failed call. Only [`CallError::Refused`] is a decision. In every other case, the decision of the service
/// is unknown, so the error must never be treated as a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The service answered with an error, or this client itself refused the call ([`CallError::local`]).
    #[error("refused: {0}")]
    Refused(ServiceError),
    /// The service could not be reached, or a proxy answered in its place.
    #[error("the service cannot be reached")]
    Unavailable,
    /// The deadline of the call passed.
    #[error("the service did not answer in time")]
    DeadlineExceeded,
    /// This version of the client does not understand the response.
    #[error("the service sent an invalid response")]
    Malformed,
}

/// The error of a refused call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", reason.as_str())]
pub struct ServiceError {
    /// The reason, by which programs distinguish errors.
    pub reason: Reason,
    /// The text for people. It names the broken rule if [`Reason::http_detail`] is `None`, for example with
    /// [`Reason::UsernameInvalid`]. It is empty in an error of [`CallError::local`].
    pub message: String,
    /// The time to wait before another attempt; `None` if the service sent none.
    pub retry_after: Option<Duration>,
}

impl CallError {
    /// Returns the reason of a refusal; `None` for any other error.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Refused(error) => Some(error.reason),
            _ => None,
        }
    }

    /// Creates a refusal that is not the status of a call. Either this client itself refuses the call, or the
    /// refusal is the outcome of an item in a batch.
    #[must_use]
    pub fn local(reason: Reason) -> Self {
        Self::Refused(ServiceError {
            reason,
            message: String::new(),
            retry_after: None,
        })
    }

    /// Interprets a status by the reason of Rolegate in it. An unknown reason is [`CallError::Malformed`]. A
    /// status without a reason comes from a proxy or from tonic, which reports both a timeout of either side
    /// and a broken connection as CANCELLED. `is_overdue` says that the deadline has passed, which
    /// distinguishes the two.
    #[must_use]
    pub fn from_status(status: &Status, is_overdue: bool) -> Self {
        let error_info = status.get_details_error_info();
        if let Some(info) = error_info.filter(|info| info.domain == ERROR_DOMAIN) {
            return match Reason::from_name(&info.reason) {
                Some(reason) => Self::Refused(ServiceError {
                    reason,
                    message: status.message().to_owned(),
                    retry_after: status
                        .get_details_retry_info()
                        .and_then(|info| info.retry_delay),
                }),
                None => Self::Malformed,
            };
        }
        let is_timeout = matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled);
        if is_timeout && is_overdue {
            Self::DeadlineExceeded
        } else {
            Self::Unavailable
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallError, Reason};
    use std::{collections::HashMap, time::Duration};
    use tonic::{Code, Status};
    use tonic_types::{ErrorDetails, StatusExt};

    fn status(code: Code, reason: &str, domain: &str) -> Status {
        let mut details = ErrorDetails::with_error_info(reason, domain, HashMap::new());
        details.set_retry_info(Some(Duration::from_secs(7)));
        Status::with_error_details(code, "text", details)
    }

    #[test]
    fn service_error_has_reason_and_retry_delay() {
        let status = status(Code::ResourceExhausted, "OVERLOADED", "rolegate");
        let error = CallError::from_status(&status, false);
        let CallError::Refused(refused) = error else {
            panic!("{error:?}")
        };
        assert_eq!(refused.reason, Reason::Overloaded);
        assert_eq!(refused.retry_after, Some(Duration::from_secs(7)));
    }

    #[test]
    fn status_without_our_error_info_is_unavailable_for_every_code() {
        for code in [
            Code::Unauthenticated,
            Code::PermissionDenied,
            Code::NotFound,
            Code::Internal,
        ] {
            let proxy = Status::new(code, "proxy");
            assert_eq!(CallError::from_status(&proxy, true), CallError::Unavailable);
            let foreign = status(code, "TOKEN_INVALID", "example.com");
            assert_eq!(
                CallError::from_status(&foreign, true),
                CallError::Unavailable
            );
        }
    }

    #[test]
    fn timeout_status_is_deadline_exceeded_only_at_the_deadline() {
        for code in [Code::Cancelled, Code::DeadlineExceeded] {
            let status = Status::new(code, "Timeout expired");
            assert_eq!(
                CallError::from_status(&status, true),
                CallError::DeadlineExceeded
            );
            assert_eq!(
                CallError::from_status(&status, false),
                CallError::Unavailable
            );
        }
    }

    #[test]
    fn unknown_reason_is_malformed() {
        let status = status(Code::Unauthenticated, "FROM_THE_FUTURE", "rolegate");
        assert_eq!(CallError::from_status(&status, false), CallError::Malformed);
    }
}
