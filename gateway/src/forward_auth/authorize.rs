//! `/authorize`: whether the user of a request may pass.

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

/// The greatest number of characters of the names in the log.
const MAX_LOGGED_CHARS: usize = 200;

/// Limits how often a list with unknown role names is logged.
static UNKNOWN_ROLE_LISTS: LogLimiter<String> =
    LogLimiter::silent_when_full(10, Duration::from_mins(1));

/// The query of `/authorize`, which the operator wrote into the configuration of a proxy.
pub(crate) struct AuthorizeQuery {
    /// The names of the roles of which one is required; `None` for any user.
    pub(crate) roles: Option<String>,
    /// The status of redirects.
    pub(crate) redirect_status: StatusCode,
    /// Set if only the session in the cookie counts, because `Authorization` is for the application.
    pub(crate) cookie_only: bool,
}

impl AuthorizeQuery {
    /// Reads the query. A misspelt parameter must not admit every user, so unknown ones are refused.
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

    /// The error for malformed or unknown role names. They are a mistake in the configuration of a proxy, whose operator
    /// may see only the log.
    fn roles_error(&self) -> ApiError {
        let names = self.roles.as_deref().unwrap_or_default();
        let names: String = names.chars().take(MAX_LOGGED_CHARS).collect();
        if UNKNOWN_ROLE_LISTS.claim(names.clone()) {
            tracing::warn!(roles = ?names, "/authorize was asked for names of no role");
        }
        invalid_query("Query parameter \"roles\" must be names of roles, separated by commas.")
    }
}

/// The roles that a query requires.
enum RequestedRoles {
    /// The query names no roles: any user passes.
    Any,
    /// A user with one of these roles passes.
    Listed(Vec<Role>),
    /// The list is malformed: nobody passes.
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

    /// What the credentials are checked for. With a malformed list they are checked, too, before [`decide`] refuses
    /// every user: auth-service does the same where a name is well-formed but unknown.
    fn requirement(&self) -> Requirement<'_> {
        match self {
            Self::Listed(roles) => Requirement::Roles(roles),
            Self::Any | Self::Malformed => Requirement::AnyAuthenticated,
        }
    }
}

/// Decides whether a request may pass, whatever its method.
///
/// The response is 200 with the identity headers and no body, an error, or a redirect of a browser without a valid
/// credential to the page to sign in at. `?roles=author,admin` are the roles of which one is required; without it any
/// user passes. `?redirect_status=401` is for proxies that pass on no other refusal: `Location` is in a 401 then. With
/// `?credentials=cookie`, `Authorization` does not count.
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
        // A proxy may announce the body of its client and never send it. The answer does not wait for
        // it, and what comes later must not be taken for the next request.
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        tokio::spawn(drain_body::drain(body, drain_body::DRAIN_TIMEOUT));
    }
    response
}

/// The response to a valid query. The status of a refusal by auth-service follows from its reason, by
/// [`Reason::http_status`]: a disabled user, for example, is refused like an unknown one, with 401.
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
        // auth-service refuses an unknown role name as an invalid request.
        Err(refusal) if refusal_reason(&refusal) == Some(Reason::RequestInvalid) => {
            query.roles_error().into_response()
        }
        Err(mut refusal) => {
            let extensions = refusal.extensions_mut();
            // `refusal::complete` reads it, and offers no password.
            if query.cookie_only {
                extensions.insert(CookieOnly);
            }
            // The audit log reads them: `denial_audit::record`.
            if let RequestedRoles::Listed(roles) = &roles {
                extensions.insert(RequiredRoles::of(roles));
            }
            refusal
        }
    }
}

/// A check of the credentials of a request.
struct CredentialCheck<'a> {
    state: &'a GatewayState,
    context: CallContext,
    query: &'a AuthorizeQuery,
    headers: &'a HeaderMap,
    roles: &'a RequestedRoles,
}

impl CredentialCheck<'_> {
    /// The user whose credentials count, if the role stored now meets the requirement. With malformed roles, a wrong
    /// password is not replaced by the cookie.
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

    /// The user in the cookie, after the password that the browser remembers was refused. If the cookie admits nobody,
    /// and the person is not redirected to sign in, the response is the refusal of the password.
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
        // Boxed because this future is large: a request with `Authorization` would reserve its size for nothing.
        Box::pin(user).await
    }
}

/// Tells whether a browser adds a password to the request for a page, which a person may have typed long ago.
fn is_remembered_password(headers: &HeaderMap) -> bool {
    BrowserRequest::forwarded(headers).is_declared_navigation()
        && matches!(authorization(headers), Ok(Authorization::Basic { .. }))
}

fn refusal_reason(response: &Response) -> Option<Reason> {
    response.extensions().get().and_then(CallError::reason)
}

/// The identity headers, which a proxy copies to the application in place of those of the client. `Remote-Email` is
/// missing if the name is no address: the proxy must then remove that of the client, as the shipped configurations do.
fn identity_header_map(user: &User) -> HeaderMap {
    // Never invalid: the values are printable ASCII.
    let value =
        |text: String| HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("-"));
    identity_headers(user.id, &user.username, user.role)
        .into_iter()
        .map(|(name, text)| (HeaderName::from_static(name), value(text)))
        .collect()
}
