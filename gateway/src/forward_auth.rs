//! The address of proxies: decisions about requests to applications that know nothing of Rolegate, and
//! introspection of access tokens (RFC 7662). It is not for the public.
//!
//! A decision depends on the credentials and on the URL that the operator wrote into the proxy's
//! configuration; never on the path in `X-Forwarded-Uri`, which a client may influence. Only whether a cookie
//! counts depends on the method, which the proxy must overwrite.

pub(crate) mod authorize;
mod cookie;
pub(crate) mod introspect;
mod refusal;

use crate::{
    memory::MemoryBudgets,
    middleware::{self, console_cookie::ConsoleCookie},
    settings::{AllowedOrigins, PublicSettings},
    state::GatewayState,
};
use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{any, post},
};

/// The router has no CORS: a proxy asks about preflights too, and must get a decision.
pub(crate) fn router(
    state: GatewayState,
    settings: &PublicSettings,
    memory: &MemoryBudgets,
) -> Router {
    let settings = PublicSettings {
        cors_allowed_origins: AllowedOrigins::default(),
        ..settings.clone()
    };
    let routes = Router::new()
        .route("/authorize", any(authorize::authorize))
        .route("/introspect", post(introspect::introspect))
        .layer(from_fn_with_state(state.clone(), refusal::complete));
    middleware::apply(
        "forward-auth",
        routes,
        ConsoleCookie::Ignored,
        &settings,
        memory,
    )
    .with_state(state)
}

#[cfg(test)]
mod tests;
