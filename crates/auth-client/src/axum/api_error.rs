//! Errors as HTTP responses: a status and `{"detail": …}`.

use crate::{CallError, Reason, ServiceError};
use axum::response::{IntoResponse, Response};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rolegate_proto::http::{BEARER_CHALLENGE, retry_after};
use std::borrow::Cow;

/// An error response. With 401 it carries `WWW-Authenticate: Bearer`, and `error="invalid_token"` where
/// the request presented a token (RFC 6750, section 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    status: StatusCode,
    detail: Cow<'static, str>,
    /// In seconds.
    retry_after: Option<u64>,
    challenge: &'static str,
    /// For the log; put into the extensions of the response, never into its body.
    cause: Option<CallError>,
}

impl ApiError {
    /// An error with this status and `detail`.
    pub fn new(status: StatusCode, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        let challenge = BEARER_CHALLENGE;
        Self { status, detail, retry_after: None, challenge, cause: None }
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

    /// The text for the client.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        let (status, detail) = error.reason.http();
        // Every status of a reason is valid.
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let detail = detail.map_or(Cow::Owned(error.message), Cow::Borrowed);
        let retry_after = retry_after(status.as_u16(), error.retry_after);
        Self {
            retry_after,
            challenge: error.reason.bearer_challenge(),
            ..Self::new(status, detail)
        }
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
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(self.challenge));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::ApiError;
    use crate::{CallError, Reason};

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
}
