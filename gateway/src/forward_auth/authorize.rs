//! Serves `/authorize`, which decides whether a request to an application may pass.

use super::{credential_check::CredentialCheck, refusal::CookieOnly};
use crate::{
    extract::query_params::{QueryParams, invalid_query},
    middleware::drain_body,
    state::GatewayState,
};
use axum::{
    Extension,
    body::HttpBody as _,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header::CONNECTION};
use rolegate_auth_client::{
    CallContext, CallError, Reason, Requirement, Role,
    axum::{ApiError, RequiredRoles},
};
use rolegate_program::log_limiter::LogLimiter;
use rolegate_proto::identity_headers::identity_headers;
use std::time::Duration;

/// The maximum number of characters that are logged of a list with unknown role names.
const MAX_LOGGED_CHARS: usize = 200;

/// Limits how often a list with unknown role names is logged: each list once a minute, and at most ten lists.
static UNKNOWN_ROLE_LISTS: LogLimiter<String> =
    LogLimiter::silent_when_full(10, Duration::from_mins(1));

/// The query of `/authorize`, which the operator wrote into the configuration of a proxy.
pub(crate) struct AuthorizeQuery {
    /// The names of roles, separated by commas. The user needs one of them. `None` admits any user.
    pub(crate) roles: Option<String>,
    /// The status of a redirect to the sign-in page.
    pub(crate) redirect_status: StatusCode,
    /// True if only the session in the cookie counts, because `Authorization` is meant for the application.
    pub(crate) cookie_only: bool,
}

impl AuthorizeQuery {
    /// Parses the query. Fails if a parameter is repeated or invalid, and also if it is unknown, because a misspelled
    /// name must not admit every user.
    pub(crate) fn read(query: &QueryParams) -> Result<Self, ApiError> {
        query.expect_only(&["roles", "redirect_status", "credentials"])?;
        let redirect_status = match query.one_of("redirect_status", ["303", "401"])? {
            Some("401") => StatusCode::UNAUTHORIZED,
            _ => StatusCode::SEE_OTHER,
        };
        let cookie_only = query.one_of("credentials", ["cookie"])?.is_some();
        Ok(Self {
            roles: query.get("roles")?.map(str::to_owned),
            redirect_status,
            cookie_only,
        })
    }

    /// Returns the error for malformed or unknown role names, and logs it. The cause is a mistake in the configuration
    /// of a proxy. Its operator may see only the log, because the proxy may not show the response.
    fn roles_error(&self) -> ApiError {
        let names = self.roles.as_deref().unwrap_or_default();
        let names: String = names.chars().take(MAX_LOGGED_CHARS).collect();
        if UNKNOWN_ROLE_LISTS.claim(names.clone()) {
            tracing::warn!(roles = ?names, "the query of /authorize names unknown roles");
        }
        invalid_query("Query parameter \"roles\" must be names of roles, separated by commas.")
    }
}

/// Decides whether a request may pass, whatever its method.
///
/// A request that may pass gets 200 with the identity headers and without a body. A browser without a valid credential
/// is redirected to the sign-in page. Every other request gets an error. The query has three optional parameters:
///
/// - `roles=author,admin`: the user needs one of these roles. Without this parameter, any user passes.
/// - `redirect_status=401`: a redirect is a 401 with `Location`, for proxies that pass on no other refusal.
/// - `credentials=cookie`: `Authorization` is ignored, and only the session in the cookie counts.
pub(super) async fn authorize(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    query: Result<QueryParams, ApiError>,
    request: Request,
) -> Response {
    let mut response = match query.and_then(|query| AuthorizeQuery::read(&query)) {
        Ok(query) => decide(&state, context, &query, request.headers()).await,
        Err(error) => error.into_response(),
    };
    let body = request.into_body();
    if !body.is_end_stream() {
        // A proxy may announce the body of its client and never send it. The response does not wait for the body, and
        // bytes that arrive later must not be taken for the next request.
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        tokio::spawn(drain_body::drain(body, drain_body::DRAIN_TIMEOUT));
    }
    response
}

/// Checks the credentials of a request with a valid query, and returns the response.
///
/// The status of a refusal by auth-service follows from its reason, by [`Reason::http_status`]. For example, a disabled
/// user is refused like an unknown one, with 401.
///
/// With a malformed list of roles, the credentials are checked first, and then every user is refused. auth-service
/// treats a name that is well-formed but unknown in the same way.
async fn decide(
    state: &GatewayState,
    context: CallContext,
    query: &AuthorizeQuery,
    headers: &HeaderMap,
) -> Response {
    let roles = query.roles.as_deref().map(Role::parse_list).transpose();
    let check = CredentialCheck {
        state,
        context,
        headers,
        cookie_only: query.cookie_only,
        redirect_status: query.redirect_status,
        requirement: match &roles {
            Ok(Some(roles)) => Requirement::Roles(roles),
            Ok(None) | Err(_) => Requirement::AnyAuthenticated,
        },
        has_valid_roles: roles.is_ok(),
    };
    match check.run().await {
        Ok(_) if roles.is_err() => query.roles_error().into_response(),
        // A proxy copies these headers to the application in place of the client's. `Remote-Email` is missing if the
        // username is not an email address. The proxy must then remove the client's header, as the shipped
        // configurations do. The values are printable ASCII, so none is invalid.
        Ok(user) => {
            let identity = identity_headers(user.id, &user.username, user.role);
            AppendHeaders(identity).into_response()
        }
        Err(mut refusal) => {
            let extensions = refusal.extensions_mut();
            // auth-service reports an unknown role name as an invalid request.
            if extensions.get().and_then(CallError::reason) == Some(Reason::RequestInvalid) {
                return query.roles_error().into_response();
            }
            // `refusal::complete` reads this mark, and then adds no `Basic` challenge.
            if query.cookie_only {
                extensions.insert(CookieOnly);
            }
            // `denial_audit::record` reads the roles for the audit log.
            if let Ok(Some(roles)) = &roles {
                extensions.insert(RequiredRoles::of(roles));
            }
            refusal
        }
    }
}
