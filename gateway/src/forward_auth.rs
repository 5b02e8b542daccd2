//! The address of proxies: decisions about requests to applications that know nothing of Rolegate, and
//! introspection of access tokens (RFC 7662). It is not for the public.
//!
//! A decision depends on the credentials and on the URL that the operator wrote into the proxy's
//! configuration; never on the path or the method in `X-Forwarded-*`, which a client may influence.

mod authorize;
mod introspect;

use crate::{
    memory::MemoryBudgets,
    middleware,
    settings::{AllowedOrigins, PublicSettings},
    state::GatewayState,
};
use axum::{
    Router,
    middleware::map_response,
    response::Response,
    routing::{any, post},
};
use http::{
    HeaderValue, StatusCode,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
};
use rolegate_proto::http::BASIC_CHALLENGE;

/// Without CORS: a proxy asks about preflights too, and must get a decision.
pub(crate) fn router(
    state: GatewayState,
    settings: &PublicSettings,
    memory: &MemoryBudgets,
) -> Router {
    let cors_allowed_origins = AllowedOrigins::Disabled;
    let settings = PublicSettings { cors_allowed_origins, ..settings.clone() };
    let routes = Router::new()
        .route("/authorize", any(authorize::authorize))
        .route("/introspect", post(introspect::introspect))
        .layer(map_response(complete));
    middleware::apply("forward-auth", routes, &settings, memory).with_state(state)
}

/// Adds the `Basic` challenge to the `Bearer` challenge of `ApiError`, because both schemes are accepted, and
/// `Retry-After` to a 504, because asking again changes nothing.
async fn complete(mut response: Response) -> Response {
    let (name, value) = match response.status() {
        StatusCode::UNAUTHORIZED => (WWW_AUTHENTICATE, BASIC_CHALLENGE),
        StatusCode::GATEWAY_TIMEOUT => (RETRY_AFTER, "1"),
        _ => return response,
    };
    response.headers_mut().append(name, HeaderValue::from_static(value));
    response
}

#[cfg(test)]
mod tests;
