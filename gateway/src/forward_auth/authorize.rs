//! Serves `/authorize`, which decides whether a request to an application may pass.

use super::{cookie, refusal::CookieOnly};
use crate::{
    extract::{
        credentials::{authenticate_header, authorization},
        query_params::{QueryParams, invalid_query},
    },
    middleware::drain_body,
    state::GatewayState,
};
use axum::{
    Extension,
    body::HttpBody as _,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{AUTHORIZATION, CONNECTION, LOCATION},
};
use rolegate_auth_client::{
    CallContext, CallError, Reason, Requirement, Role, User,
    axum::{ApiError, RequiredRoles},
};
use rolegate_proto::{Authorization, identity_headers::identity_headers};
use rolegate_sign_in::{request::BrowserRequest, sign_in::SignIn};
use rolegate_telemetry::log_limiter::LogLimiter;
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

/// What a query requires of the user's role.
enum RequestedRoles {
    /// The query names no roles, so any user passes.
    Any,
    /// Users with one of these roles pass.
    Listed(Vec<Role>),
    /// The list is malformed, so nobody passes.
    Malformed,
}

impl RequestedRoles {
    fn parse(names: Option<&str>) -> Self {
        match names.map(Role::parse_list) {
            None => Self::Any,
            Some(Ok(roles)) => Self::Listed(roles),
            Some(Err(_unknown)) => Self::Malformed,
        }
    }

    /// Returns the requirement against which the credentials are checked.
    ///
    /// With a malformed list, the credentials are checked first, and then [`decide`] refuses every user. auth-service
    /// treats a name that is well-formed but unknown in the same way.
    fn requirement(&self) -> Requirement<'_> {
        match self {
            Self::Listed(roles) => Requirement::Roles(roles),
            Self::Any | Self::Malformed => Requirement::AnyAuthenticated,
        }
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
async fn decide(
    state: &GatewayState,
    context: CallContext,
    query: &AuthorizeQuery,
    headers: &HeaderMap,
) -> Response {
    let roles = RequestedRoles::parse(query.roles.as_deref());
    let check = CredentialCheck {
        state,
        context,
        query,
        headers,
        roles: &roles,
    };
    match check.run().await {
        Ok(_) if matches!(roles, RequestedRoles::Malformed) => query.roles_error().into_response(),
        Ok(user) => identity_header_map(&user).into_response(),
        // auth-service reports an unknown role name as an invalid request.
        Err(refusal) if refusal_reason(&refusal) == Some(Reason::RequestInvalid) => {
            query.roles_error().into_response()
        }
        Err(mut refusal) => {
            let extensions = refusal.extensions_mut();
            // `refusal::complete` reads this mark, and then adds no `Basic` challenge.
            if query.cookie_only {
                extensions.insert(CookieOnly);
            }
            // `denial_audit::record` reads the roles for the audit log.
            if let RequestedRoles::Listed(roles) = &roles {
                extensions.insert(RequiredRoles::of(roles));
            }
            refusal
        }
    }
}

/// The check of the credentials of one request.
struct CredentialCheck<'a> {
    state: &'a GatewayState,
    context: CallContext,
    query: &'a AuthorizeQuery,
    headers: &'a HeaderMap,
    roles: &'a RequestedRoles,
}

impl CredentialCheck<'_> {
    /// Checks `Authorization`, or the session in the cookie if there is no `Authorization` or only the cookie counts.
    /// Returns the user, and refuses one whose stored role does not meet the requirement. With `SIGN_IN=off`, no cookie
    /// counts.
    ///
    /// If a browser's remembered password is refused with 401, the cookie is tried instead, unless the list of roles is
    /// malformed.
    async fn run(&self) -> Result<User, Response> {
        let cookie_only = self.query.cookie_only;
        let Some(sign_in) = &self.state.sign_in else {
            if cookie_only {
                return Err(ApiError::not_authenticated().into_response());
            }
            return self.check_authorization().await;
        };
        if cookie_only || !self.headers.contains_key(AUTHORIZATION) {
            return self.check_cookie(sign_in).await;
        }
        match self.check_authorization().await {
            Err(refusal)
                if refusal.status() == StatusCode::UNAUTHORIZED
                    && !matches!(self.roles, RequestedRoles::Malformed)
                    && is_remembered_password(self.headers) =>
            {
                self.check_cookie_instead(sign_in, refusal).await
            }
            outcome => outcome,
        }
    }

    async fn check_authorization(&self) -> Result<User, Response> {
        authenticate_header(
            self.state,
            self.headers,
            self.context,
            self.roles.requirement(),
        )
        .await
    }

    /// Checks the cookie after the browser's remembered password was refused. If the cookie is refused as well, returns
    /// the redirect to the sign-in page, if there is one, and otherwise `refusal`, which is about the password.
    async fn check_cookie_instead(
        &self,
        sign_in: &SignIn,
        refusal: Response,
    ) -> Result<User, Response> {
        match self.check_cookie(sign_in).await {
            Err(other) if !other.headers().contains_key(LOCATION) => Err(refusal),
            outcome => outcome,
        }
    }

    async fn check_cookie(&self, sign_in: &SignIn) -> Result<User, Response> {
        let user = cookie::authenticate(
            &self.state.auth,
            sign_in,
            self.headers,
            self.context,
            self.roles.requirement(),
            self.query.redirect_status,
        );
        // The future is boxed because it is large. Otherwise every request would reserve its size, even one with
        // `Authorization`, which does not need it.
        Box::pin(user).await
    }
}

/// Returns `true` if a browser added a password to its request for a page. The person may have typed that password long
/// ago.
fn is_remembered_password(headers: &HeaderMap) -> bool {
    BrowserRequest::forwarded(headers).is_declared_navigation()
        && matches!(authorization(headers), Ok(Authorization::Basic { .. }))
}

fn refusal_reason(response: &Response) -> Option<Reason> {
    response.extensions().get().and_then(CallError::reason)
}

/// Returns the identity headers, which a proxy copies to the application in place of the client's.
///
/// `Remote-Email` is missing if the username is not an email address. The proxy must then remove the client's header,
/// as the shipped configurations do.
fn identity_header_map(user: &User) -> HeaderMap {
    // The values are printable ASCII, so none is invalid.
    let value =
        |text: String| HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("-"));
    identity_headers(user.id, &user.username, user.role)
        .into_iter()
        .map(|(name, text)| (HeaderName::from_static(name), value(text)))
        .collect()
}
