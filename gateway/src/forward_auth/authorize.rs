//! `/authorize`: whether the user of a request may pass.

use super::{cookie, refusal::CookieOnly};
use crate::{
    extract::{
        credentials::{authenticate, authorization},
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

/// Limits how often a list with names of no role is logged.
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

    /// The error for names of no role. They are a mistake in the configuration of a proxy, whose operator may see only
    /// the log.
    fn roles_error(&self) -> ApiError {
        let names = self.roles.as_deref().unwrap_or_default();
        let names: String = names.chars().take(MAX_LOGGED_CHARS).collect();
        if UNKNOWN_ROLE_LISTS.claim(names.clone()) {
            tracing::warn!(roles = ?names, "/authorize was asked for names of no role");
        }
        invalid_query("Query parameter \"roles\" must be names of roles, separated by commas.")
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

async fn decide(
    state: &GatewayState,
    context: CallContext,
    query: &AuthorizeQuery,
    headers: &HeaderMap,
) -> Response {
    let roles = query.roles.as_deref().map(Role::parse_list).transpose();
    // With malformed names nobody passes. The credentials are checked before the names nevertheless, as auth-service
    // does where a name is well-formed but of no role: it refuses that as an invalid request.
    let has_malformed_roles = roles.is_err();
    let roles = roles.unwrap_or_default();
    let requirement = match &roles {
        Some(roles) => Requirement::Roles(roles),
        None => Requirement::AnyAuthenticated,
    };
    let check = Check {
        state,
        context,
        query,
        headers,
        requirement,
    };
    match check.authenticate(has_malformed_roles).await {
        Ok(_) if has_malformed_roles => query.roles_error().into_response(),
        Ok(user) => identity_header_map(&user).into_response(),
        Err(refusal) if refusal_reason(&refusal) == Some(Reason::RequestInvalid) => {
            query.roles_error().into_response()
        }
        Err(mut refusal) => {
            let extensions = refusal.extensions_mut();
            if query.cookie_only {
                extensions.insert(CookieOnly);
            }
            if let Some(roles) = &roles {
                extensions.insert(RequiredRoles::of(roles));
            }
            refusal
        }
    }
}

/// A check of the credentials of a request.
struct Check<'a> {
    state: &'a GatewayState,
    context: CallContext,
    query: &'a AuthorizeQuery,
    headers: &'a HeaderMap,
    requirement: Requirement<'a>,
}

impl Check<'_> {
    /// The user whose credentials count, if the role stored now meets the requirement. With malformed roles, a wrong
    /// password is not replaced by the cookie.
    async fn authenticate(&self, has_malformed_roles: bool) -> Result<User, Response> {
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
                    && !has_malformed_roles
                    && is_remembered_password(self.headers) =>
            {
                self.check_cookie_instead(sign_in, refusal).await
            }
            outcome => outcome,
        }
    }

    async fn check_authorization(&self) -> Result<User, Response> {
        authenticate(self.state, self.headers, self.context, self.requirement).await
    }

    /// The user in the cookie if the password that the browser remembers is wrong. The refusal of the password stands
    /// where the person is not redirected either.
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
            self.requirement,
            self.query.redirect_status,
        );
        // Boxed, so that other decisions are no larger.
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

/// The identity headers, which a proxy copies to the application. They overwrite those of a client, except for the
/// e-mail address, which not every user has.
fn identity_header_map(user: &User) -> HeaderMap {
    // Never invalid: the values are printable ASCII.
    let value =
        |text: String| HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("-"));
    identity_headers(user.id, &user.username, user.role)
        .into_iter()
        .map(|(name, text)| (HeaderName::from_static(name), value(text)))
        .collect()
}
