//! Why a call has no good answer.

use rolegate_proto::{ERROR_DOMAIN, Reason};
use std::time::Duration;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// A call without a good answer. Only [`CallError::Refused`] is an answer of the service; every other
/// case means that nobody has decided anything, and must not be read as "no".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The service answered, with a reason.
    #[error("refused: {0}")]
    Refused(ServiceError),
    /// The service could not be reached, or something on the way answered in its stead.
    #[error("the service cannot be reached")]
    Unavailable,
    /// The deadline of the call passed.
    #[error("the service did not answer in time")]
    DeadlineExceeded,
    /// The answer makes no sense to this version of the client.
    #[error("the service sent an answer that this client does not understand")]
    Malformed,
}

/// What the service answered instead of success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", reason.as_str())]
pub struct ServiceError {
    /// Decide by this.
    pub reason: Reason,
    /// For people; for [`Reason::UsernameInvalid`], [`Reason::PasswordInvalid`] and
    /// [`Reason::PostInvalid`] the broken rule.
    pub message: String,
    /// When it makes sense to try again, where the service said so.
    pub retry_after: Option<Duration>,
}

impl CallError {
    /// The reason, where the service gave one.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Refused(refusal) => Some(refusal.reason),
            _ => None,
        }
    }

    /// A refusal that this client can tell without asking.
    #[must_use]
    pub fn local(reason: Reason) -> Self {
        Self::Refused(ServiceError { reason, message: String::new(), retry_after: None })
    }
}

impl CallError {
    /// What a status means. `time_is_up`: it came when the deadline passed. tonic reports that as
    /// CANCELLED, on either side; so it reports a connection that broke, at any time.
    pub(crate) fn of(status: &Status, time_is_up: bool) -> Self {
        match status.get_details_error_info() {
            Some(info) if info.domain == ERROR_DOMAIN => match Reason::from_name(&info.reason) {
                Some(reason) => Self::Refused(ServiceError {
                    reason,
                    message: status.message().to_owned(),
                    retry_after: status.get_details_retry_info().and_then(|info| info.retry_delay),
                }),
                None => Self::Malformed,
            },
            _ if time_is_up
                && matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled) =>
            {
                Self::DeadlineExceeded
            }
            _ => Self::Unavailable,
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
    fn our_reason_decides_and_brings_its_retry_delay() {
        let status = status(Code::ResourceExhausted, "OVERLOADED", "rolegate");
        let error = CallError::of(&status, false);
        let CallError::Refused(refusal) = error else { panic!("{error:?}") };
        assert_eq!(refusal.reason, Reason::Overloaded);
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_status_without_our_error_info_is_no_answer_whatever_its_code() {
        for code in [Code::Unauthenticated, Code::PermissionDenied, Code::NotFound, Code::Internal]
        {
            let proxy = Status::new(code, "proxy");
            assert_eq!(CallError::of(&proxy, true), CallError::Unavailable);
            let foreign = status(code, "TOKEN_INVALID", "example.com");
            assert_eq!(CallError::of(&foreign, true), CallError::Unavailable);
        }
    }

    #[test]
    fn a_timeout_of_either_side_is_the_deadline_and_before_it_the_connection_broke() {
        for code in [Code::Cancelled, Code::DeadlineExceeded] {
            let status = Status::new(code, "Timeout expired");
            assert_eq!(CallError::of(&status, true), CallError::DeadlineExceeded);
            assert_eq!(CallError::of(&status, false), CallError::Unavailable);
        }
    }

    #[test]
    fn a_reason_of_a_later_version_is_not_guessed() {
        let status = status(Code::Unauthenticated, "FROM_THE_FUTURE", "rolegate");
        assert_eq!(CallError::of(&status, false), CallError::Malformed);
    }
}
