//! The address of proxies: decisions about requests to applications that know nothing of Rolegate, and
//! introspection of access tokens (RFC 7662). It is not for the public.
//!
//! A decision depends on the credentials and on the URL that the operator wrote into the proxy's
//! configuration; never on the path in `X-Forwarded-Uri`, which a client may influence. Only whether a cookie
//! is good depends on the method, which the proxy must overwrite.

mod cookie;
pub(crate) mod introspect;

/// Characters of the names in the log.
const MAX_LOGGED: usize = 200;

static MISTAKES: LogOnce<String> = LogOnce::at_most(10, Duration::from_mins(1));

use crate::{
    extract::{
        credentials::{authenticate, authorization},
        query_params::QueryParams,
    },
    memory::MemoryBudgets,
    middleware::{self, drain_body},
    settings::{AllowedOrigins, PublicSettings},
    state::GatewayState,
};
use axum::{
    Extension, Router,
    body::HttpBody as _,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::{any, post},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{AUTHORIZATION, CONNECTION, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rolegate_auth_client::{
    CallContext, CallError, Reason, Requirement, Role, User,
    axum::{ApiError, RequiredRoles},
};
use rolegate_proto::{
    Authorization,
    http::{BASIC_CHALLENGE_WITH_REALM, HttpReason},
    identity_headers::identity_headers,
};
use rolegate_sign_in::request::BrowserRequest;
use rolegate_telemetry::log_once::LogOnce;
use std::time::Duration;

/// Without CORS: a proxy asks about preflights too, and must get a decision.
pub(crate) fn router(
    state: GatewayState,
    settings: &PublicSettings,
    memory: &MemoryBudgets,
) -> Router {
    let cors_allowed_origins = AllowedOrigins::default();
    let settings = PublicSettings {
        cors_allowed_origins,
        ..settings.clone()
    };
    let routes = Router::new()
        .route("/authorize", any(authorize))
        .route("/introspect", post(introspect::introspect))
        .layer(from_fn_with_state(state.clone(), complete));
    middleware::apply("forward-auth", routes, false, &settings, memory).with_state(state)
}

/// Marks the refusal of a request whose `Authorization` is the application's business.
#[derive(Clone)]
struct CookieOnly;

/// Adds the `Basic` challenge to the `Bearer` challenge of `ApiError`, because both schemes are accepted, but not
/// where the dialog of a browser for a password would be in the way. `Basic` comes first, because nginx before 1.23
/// reads only the first challenge, and cannot know by itself whether the dialog may open. Where only the cookie
/// counts, a password would be of no use.
///
/// A 504 gets `Retry-After`, because asking again changes nothing.
async fn complete(State(state): State<GatewayState>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let has_authorization = headers.contains_key(AUTHORIZATION);
    let allows_basic = state.sign_in.is_none_or(|sign_in| {
        sign_in.allows_basic_challenge(BrowserRequest::forwarded(headers), has_authorization)
    });
    let mut response = next.run(request).await;
    let status = response.status();
    let allows_basic = allows_basic && response.extensions().get::<CookieOnly>().is_none();
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED && allows_basic {
        let basic = HeaderValue::from_static(BASIC_CHALLENGE_WITH_REALM);
        if let Some(bearer) = headers.insert(WWW_AUTHENTICATE, basic) {
            headers.append(WWW_AUTHENTICATE, bearer);
        }
    }
    if status == StatusCode::GATEWAY_TIMEOUT {
        headers.append(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// `/authorize`: whether the user of a request may pass, with any method.
///
/// 200 with the identity headers and no body, an error, or for browsers without a good credential the way to
/// the page to sign in at. `?roles=author,admin` are the roles of which one is required; without it any user
/// passes. `?redirect_status=401` is for proxies that know no other answer: the way is in a 401 then. With
/// `?credentials=cookie`, `Authorization` does not count, because it is for the application.
async fn authorize(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    query: Result<QueryParams, ApiError>,
    request: Request,
) -> Response {
    let mut response = match query.and_then(|query| parameters(&query)) {
        Ok(parameters) => decide(&state, context, &parameters, request.headers()).await,
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
    parameters: &Parameters,
    headers: &HeaderMap,
) -> Response {
    let names = parameters.roles.as_deref();
    // With malformed names nobody passes; credentials are checked all the same, before names, as
    // auth-service does where a name is well-formed but of no role.
    let roles = names.map(Role::parse_list).transpose();
    let is_malformed = roles.is_err();
    let roles = roles.unwrap_or_default();
    let requirement = roles
        .as_deref()
        .map_or(Requirement::AnyAuthenticated, Requirement::Roles);
    let reason = |response: &Response| response.extensions().get().and_then(CallError::reason);
    // Boxed, so that other decisions are no larger.
    let by_cookie = |sign_in| {
        let auth = &state.auth;
        Box::pin(cookie::user(
            auth,
            sign_in,
            headers,
            context,
            requirement,
            parameters.redirect_status,
        ))
    };
    let user = match &state.sign_in {
        None if parameters.cookie_only => Err(ApiError::not_authenticated().into_response()),
        Some(sign_in) if parameters.cookie_only || !headers.contains_key(AUTHORIZATION) => {
            by_cookie(sign_in).await
        }
        Some(sign_in) if is_remembered_password(headers) && !is_malformed => {
            match authenticate(state, headers, context, requirement).await {
                Err(refused) if refused.status() == StatusCode::UNAUTHORIZED => {
                    match by_cookie(sign_in).await {
                        Err(other) if !other.headers().contains_key(LOCATION) => Err(refused),
                        outcome => outcome,
                    }
                }
                outcome => outcome,
            }
        }
        _ => authenticate(state, headers, context, requirement).await,
    };
    match user {
        Ok(_) if is_malformed => no_roles(names).into_response(),
        Ok(user) => identity(&user).into_response(),
        Err(response) if reason(&response) == Some(Reason::RequestInvalid) => {
            no_roles(names).into_response()
        }
        Err(mut response) => {
            if parameters.cookie_only {
                response.extensions_mut().insert(CookieOnly);
            }
            let roles = roles.as_deref().map(RequiredRoles::of);
            roles.map(|roles| response.extensions_mut().insert(roles));
            response
        }
    }
}

/// Whether a browser adds a password to the request for a page, which a person may have typed long ago.
fn is_remembered_password(headers: &HeaderMap) -> bool {
    BrowserRequest::forwarded(headers).is_declared_navigation()
        && matches!(authorization(headers), Ok(Authorization::Basic { .. }))
}

/// The query of `/authorize`.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// The names of the roles of which one is required; `None` for any user.
    pub(crate) roles: Option<String>,
    /// The status of redirects.
    pub(crate) redirect_status: StatusCode,
    /// Whether only the session in the cookie counts.
    pub(crate) cookie_only: bool,
}

/// Reads the query. A misspelt parameter must not admit every user, so unknown ones are refused.
pub(crate) fn parameters(query: &QueryParams) -> Result<Parameters, ApiError> {
    query.expect_only(&["roles", "redirect_status", "credentials"])?;
    let redirect_status = match query.get("redirect_status")? {
        None | Some("303") => StatusCode::SEE_OTHER,
        Some("401") => StatusCode::UNAUTHORIZED,
        Some(_) => {
            let detail = "Query parameter \"redirect_status\" must be 303 or 401.";
            return Err(ApiError::http(HttpReason::QueryInvalid, detail));
        }
    };
    let cookie_only = match query.get("credentials")? {
        None => false,
        Some("cookie") => true,
        Some(_) => {
            let detail = "Query parameter \"credentials\" must be cookie.";
            return Err(ApiError::http(HttpReason::QueryInvalid, detail));
        }
    };
    Ok(Parameters {
        roles: query.get("roles")?.map(str::to_owned),
        redirect_status,
        cookie_only,
    })
}

/// The names are a mistake in the configuration of a proxy, whose operator may see only the log.
fn no_roles(names: Option<&str>) -> ApiError {
    let names: String = names.unwrap_or_default().chars().take(MAX_LOGGED).collect();
    if MISTAKES.is_due(names.clone()) {
        tracing::warn!(roles = ?names, "/authorize was asked for names of no role");
    }
    let detail = "Query parameter \"roles\" must be names of roles, separated by commas.";
    ApiError::http(HttpReason::QueryInvalid, detail)
}

/// A proxy that copies the headers overwrites those of a client, except for the address of e-mail, which not every user
/// has.
fn identity(user: &User) -> HeaderMap {
    let headers = identity_headers(user.id, &user.username, user.role);
    // Never invalid: the values are printable ASCII.
    let value =
        |text: String| HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("-"));
    headers
        .into_iter()
        .map(|(name, text)| (HeaderName::from_static(name), value(text)))
        .collect()
}

#[cfg(test)]
mod tests;
