//! Turns errors into HTTP responses, which have a status, the header `Rolegate-Reason` and the body
//! `{"detail": …}`.

use super::log_limit::should_log;
use axum::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rolegate_grpc_client::{CallError, ServiceError};
use rolegate_proto::{
    GroupName, Reason, Role,
    http::{BEARER_CHALLENGE, HttpReason, REASON_HEADER, retry_after},
};
use std::{borrow::Cow, time::Instant};

/// An error response. With the status 401, it has the header `WWW-Authenticate: Bearer`, with
/// `error="invalid_token"` if the request presented a token (RFC 6750, section 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    status: StatusCode,
    reason: &'static str,
    detail: Cow<'static, str>,
    /// The error of the call, for the log. It is put into the extensions of the response, never into its body.
    cause: Option<Box<CallError>>,
    /// The required roles, for the log. They are put into the extensions of the response, never into its body.
    required_roles: Option<RequiredRoles>,
    /// The required groups, in the same way.
    required_groups: Option<RequiredGroups>,
}

/// The names of the required roles, separated by commas, such as `author,admin`. One of these roles would have
/// been enough. A response carries this value in its extensions, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredRoles(pub Cow<'static, str>);

impl RequiredRoles {
    /// Joins the names of these roles with commas.
    #[must_use]
    pub fn of(roles: &[Role]) -> Self {
        let names: Vec<_> = roles.iter().map(Role::as_str).collect();
        Self(names.join(",").into())
    }
}

/// The names of the required groups, separated by commas, such as `crew,staff`. A response carries this value in its
/// extensions, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredGroups(pub String);

impl RequiredGroups {
    /// Joins the names of these groups with commas; `None` if there are none.
    #[must_use]
    pub fn of(groups: &[GroupName]) -> Option<Self> {
        let names: Vec<_> = groups.iter().map(GroupName::as_str).collect();
        (!names.is_empty()).then(|| Self(names.join(",")))
    }
}

impl ApiError {
    /// Creates an error with this status, reason and `detail`. The reason is in `UPPER_SNAKE_CASE` and
    /// becomes the value of a header.
    pub fn new(
        status: StatusCode,
        reason: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            reason,
            detail: detail.into(),
            cause: None,
            required_roles: None,
            required_groups: None,
        }
    }

    /// Creates an error with a reason of the program that received the request. An error of a service is
    /// converted from [`CallError`] instead.
    pub fn http(reason: HttpReason, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(status_of(reason.http_status()), reason.as_str(), detail)
    }

    /// Creates a 401 Unauthorized: the request has no credentials, or malformed ones.
    #[must_use]
    pub fn not_authenticated() -> Self {
        Self::http(HttpReason::NotAuthenticated, "Not authenticated.")
    }

    /// Adds the required roles to the error, for the log.
    #[must_use]
    pub fn requiring(self, roles: RequiredRoles) -> Self {
        Self {
            required_roles: Some(roles),
            ..self
        }
    }

    /// Adds the required groups to the error, for the log.
    #[must_use]
    pub fn requiring_groups(self, groups: Option<RequiredGroups>) -> Self {
        Self {
            required_groups: groups,
            ..self
        }
    }

    /// Returns the HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the reason, in `UPPER_SNAKE_CASE`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// Returns the text that the body of the response shows to the client.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the value of `Retry-After`, in seconds: the delay that the called service names, or else one
    /// second. Returns `None` unless the status is 429 or 503.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        let delay = self.refusal().and_then(|refusal| refusal.retry_after);
        retry_after(self.status.as_u16(), delay)
    }
}

/// Converts the HTTP status of a reason. Every reason has a valid status, so the fallback is never used.
fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl From<CallError> for ApiError {
    fn from(error: CallError) -> Self {
        let response = match &error {
            CallError::Refused(error) => {
                let detail = match error.reason.http_detail() {
                    Some(detail) => Cow::Borrowed(detail),
                    None => error.message.clone().into(),
                };
                let status = status_of(error.reason.http_status());
                Self::new(status, error.reason.as_str(), detail)
            }
            CallError::Unavailable => Self::http(
                HttpReason::UpstreamUnavailable,
                "Service temporarily unavailable.",
            ),
            CallError::DeadlineExceeded => {
                Self::http(HttpReason::UpstreamTimedOut, "Upstream timed out.")
            }
            CallError::Malformed => Self::http(HttpReason::Internal, "Internal server error."),
        };
        Self {
            cause: Some(Box::new(error)),
            ..response
        }
    }
}

impl ApiError {
    /// Returns the refusal that caused this error, from the service or from the gRPC client itself; `None` for any
    /// other cause.
    fn refusal(&self) -> Option<&ServiceError> {
        match self.cause.as_deref() {
            Some(CallError::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// Logs an error if auth-service does not accept the required roles and groups, which are a mistake of this program
    /// and not of its client. The same mistake is logged at most once a minute.
    fn log_invalid_requirement(&self) {
        let Some(RequiredRoles(roles)) = &self.required_roles else {
            return;
        };
        let is_invalid = self
            .refusal()
            .is_some_and(|refusal| refusal.reason == Reason::RequestInvalid);
        let groups = self.required_groups.as_ref().map(|groups| &*groups.0);
        if !is_invalid || !should_log(&format!("{roles};{groups:?}"), Instant::now()) {
            return;
        }
        if roles.is_empty() && groups.is_none() {
            tracing::error!("an empty list of required roles lets nobody pass");
        } else {
            tracing::error!(
                %roles,
                groups,
                "auth-service does not have all of the required roles and groups"
            );
        }
    }

    fn insert_headers(&self, headers: &mut HeaderMap) {
        let json = HeaderValue::from_static("application/json");
        headers.insert(CONTENT_TYPE, json);
        let reason = HeaderValue::from_static(self.reason);
        headers.insert(HeaderName::from_static(REASON_HEADER), reason);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = match self.refusal() {
                Some(refusal) => refusal.reason.bearer_challenge(),
                None => BEARER_CHALLENGE,
            };
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(seconds) = self.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log_invalid_requirement();
        let body = serde_json::json!({ "detail": self.detail }).to_string();
        let mut response = (self.status, body).into_response();
        self.insert_headers(response.headers_mut());
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(*cause);
        }
        if let Some(roles) = self.required_roles {
            response.extensions_mut().insert(roles);
        }
        if let Some(groups) = self.required_groups {
            response.extensions_mut().insert(groups);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiError, IntoResponse, RequiredGroups, RequiredRoles};
    use rolegate_grpc_client::CallError;
    use rolegate_proto::{Reason, Role};
    use std::{io, sync::Arc};

    #[test]
    fn required_names_that_do_not_exist_are_an_internal_error_and_named_once_in_the_log() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time();
        let subscriber = subscriber
            .with_target(false)
            .with_writer(Arc::new(writer))
            .finish();
        let roles = RequiredRoles::of(&["editor".parse().expect("a role"), Role::ADMIN]);
        let respond_to = |reason, roles| {
            let error = ApiError::from(CallError::local(reason)).requiring(roles);
            error.into_response()
        };
        let respond = |reason| respond_to(reason, roles.clone());
        tracing::subscriber::with_default(subscriber, || {
            assert_eq!(respond(Reason::RoleInsufficient).status(), 403);
            assert_eq!(respond(Reason::RequestInvalid).status(), 500);
            assert_eq!(respond(Reason::RequestInvalid).status(), 500);
            respond_to(Reason::RequestInvalid, RequiredRoles::of(&[]));
            for group in ["staff", "crew"].map(|name| name.parse().expect("a group")) {
                let _ = ApiError::from(CallError::local(Reason::RequestInvalid))
                    .requiring(RequiredRoles::of(&[]))
                    .requiring_groups(RequiredGroups::of(&[group]))
                    .into_response();
            }
        });
        let log = io::read_to_string(reader).expect("text");
        let line = |names| {
            format!("ERROR auth-service does not have all of the required roles and groups {names}")
        };
        assert_eq!(
            log.lines().map(str::trim).collect::<Vec<_>>(),
            [
                &*line("roles=editor,admin"),
                "ERROR an empty list of required roles lets nobody pass",
                &*line("roles= groups=\"staff\""),
                &*line("roles= groups=\"crew\""),
            ]
        );
    }

    #[test]
    fn client_errors_and_server_errors_are_told_apart() {
        for &reason in Reason::ALL {
            let status = ApiError::from(CallError::local(reason)).status();
            assert!(
                status.is_client_error() || status.is_server_error(),
                "{reason:?}"
            );
            let is_outage = matches!(
                reason,
                Reason::Overloaded
                    | Reason::ClockBehind
                    | Reason::AuthUnavailable
                    | Reason::StoreUnavailable
                    | Reason::StoreReadOnly
                    | Reason::OutcomeUnknown
                    | Reason::RequestInvalid
                    | Reason::SnapshotRequired
                    | Reason::HistoryUnknown
                    | Reason::Internal
            );
            assert_eq!(status.is_server_error(), is_outage, "{reason:?}");
        }
    }

    #[test]
    fn failed_call_is_a_server_error() {
        for error in [
            CallError::Unavailable,
            CallError::DeadlineExceeded,
            CallError::Malformed,
        ] {
            assert!(ApiError::from(error).status().is_server_error());
        }
    }
}
