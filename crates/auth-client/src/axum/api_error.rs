//! Errors as HTTP responses: a status and `{"detail": …}`.

use crate::{CallError, Reason, ServiceError};
use axum::response::{IntoResponse, Response};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use std::{borrow::Cow, time::Duration};

/// An error response. With 401 it carries `WWW-Authenticate: Bearer`, and `error="invalid_token"` where
/// the request presented a token (RFC 6750, section 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    status: StatusCode,
    detail: Cow<'static, str>,
    retry_after: Option<Duration>,
    token_presented: bool,
    /// For the log; put into the extensions of the response, never into its body.
    cause: Option<CallError>,
}

/// `Retry-After` where the service sent no delay.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

impl ApiError {
    /// An error with this status and `detail`.
    pub fn new(status: StatusCode, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        Self { status, detail, retry_after: None, token_presented: false, cause: None }
    }

    /// 400 Bad Request.
    pub fn bad_request(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 401 Unauthorized: the request has no credentials, or malformed ones.
    #[must_use]
    pub fn not_authenticated() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Not authenticated.")
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        let (status, detail) = match error.reason {
            Reason::UsernameInvalid | Reason::PasswordInvalid | Reason::PostInvalid => {
                return Self::bad_request(error.message);
            }
            Reason::UsernameTaken => (StatusCode::BAD_REQUEST, "Username already exists."),
            Reason::RoleInvalid => (StatusCode::BAD_REQUEST, "Invalid role."),
            Reason::UserNotDeletable => (StatusCode::BAD_REQUEST, "This user cannot be deleted."),
            Reason::LastAdmin => (StatusCode::BAD_REQUEST, "The last admin cannot be removed."),
            Reason::OwnPassword => {
                (StatusCode::BAD_REQUEST, "Use /profile/password to change your own password.")
            }
            Reason::CurrentPasswordWrong => {
                (StatusCode::BAD_REQUEST, "Current password is incorrect.")
            }
            Reason::CredentialsInvalid => {
                (StatusCode::UNAUTHORIZED, "Invalid username or password.")
            }
            Reason::TokenInvalid => (StatusCode::UNAUTHORIZED, "Invalid or expired token."),
            Reason::TokenUserNotFound => (StatusCode::UNAUTHORIZED, "User not found."),
            Reason::RoleInsufficient => (StatusCode::FORBIDDEN, "Insufficient privileges."),
            Reason::RegistrationClosed => (StatusCode::FORBIDDEN, "Registration is closed."),
            Reason::UserNotFound => (StatusCode::NOT_FOUND, "User not found."),
            Reason::PostNotFound => (StatusCode::NOT_FOUND, "Post not found."),
            Reason::TooManyAttempts => {
                (StatusCode::TOO_MANY_REQUESTS, "Too many attempts, try again later.")
            }
            Reason::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "Service is busy, try again."),
            Reason::AuthUnavailable | Reason::StoreUnavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "Service temporarily unavailable.")
            }
            Reason::StoreReadOnly => {
                (StatusCode::SERVICE_UNAVAILABLE, "Service is temporarily read-only.")
            }
            Reason::OutcomeUnknown => (StatusCode::GATEWAY_TIMEOUT, "Upstream timed out."),
            // REQUEST_INVALID is a bug of the calling service, not an error of its client.
            Reason::RequestInvalid | Reason::Internal => {
                (StatusCode::INTERNAL_SERVER_ERROR, "Internal server error.")
            }
        };
        let is_temporary =
            matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        let token_presented =
            matches!(error.reason, Reason::TokenInvalid | Reason::TokenUserNotFound);
        let retry_after = is_temporary.then(|| error.retry_after.unwrap_or(DEFAULT_RETRY_AFTER));
        Self { retry_after, token_presented, ..Self::new(status, detail) }
    }
}

impl From<CallError> for ApiError {
    fn from(error: CallError) -> Self {
        let response = match error.clone() {
            CallError::Refused(error) => error.into(),
            CallError::Unavailable => CallError::local(Reason::StoreUnavailable).into(),
            CallError::DeadlineExceeded => {
                Self::new(StatusCode::GATEWAY_TIMEOUT, "Upstream timed out.")
            }
            CallError::Malformed => CallError::local(Reason::Internal).into(),
        };
        Self { cause: Some(error), ..response }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "detail": self.detail }).to_string();
        let json = HeaderValue::from_static("application/json");
        let mut response = (self.status, [(CONTENT_TYPE, json)], body).into_response();
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge =
                if self.token_presented { "Bearer error=\"invalid_token\"" } else { "Bearer" };
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(after) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
        }
        response
    }
}

/// `Retry-After` is in whole seconds; rounded up, so that clients do not come back too early.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::ApiError;
    use crate::{CallError, Reason, ServiceError};
    use axum::response::IntoResponse;
    use std::time::Duration;

    #[test]
    fn client_errors_and_server_errors_are_told_apart() {
        for &reason in Reason::ALL {
            let status = ApiError::from(CallError::local(reason)).status();
            assert!(status.is_client_error() || status.is_server_error(), "{reason:?}");
            let is_outage = matches!(
                reason,
                Reason::Overloaded
                    | Reason::AuthUnavailable
                    | Reason::StoreUnavailable
                    | Reason::StoreReadOnly
                    | Reason::OutcomeUnknown
                    | Reason::RequestInvalid
                    | Reason::Internal
            );
            assert_eq!(status.is_server_error(), is_outage, "{reason:?}");
        }
    }

    #[test]
    fn failed_call_is_a_server_error() {
        for error in [CallError::Unavailable, CallError::DeadlineExceeded, CallError::Malformed] {
            assert!(ApiError::from(error).status().is_server_error());
        }
    }

    #[test]
    fn retry_after_is_rounded_up_and_at_least_a_second() {
        for (delay, seconds) in [(0, "1"), (1000, "1"), (1001, "2"), (59_500, "60")] {
            let error = ServiceError {
                reason: Reason::TooManyAttempts,
                message: String::new(),
                retry_after: Some(Duration::from_millis(delay)),
                scope: None,
            };
            assert_eq!(ApiError::from(error).into_response().headers()["retry-after"], seconds);
        }
    }
}
