//! Serves the address at which proxies ask for decisions. It must not be public. `authorize` decides about requests to
//! applications that know nothing of Rolegate, and `introspect` checks access tokens (RFC 7662).
//!
//! A decision depends on the credentials and on the URL that the operator wrote into the proxy's configuration. It
//! never depends on the path in `X-Forwarded-Uri`, which a client may influence. The method, which the proxy must
//! overwrite, decides only whether a cookie counts.
//!
//! `authorize` reads the query. `credential_check` checks `Authorization` and the sessions in a browser's cookies, and
//! redirects the browser to the sign-in page if there is no valid session. `refusal` adds the headers that browsers and
//! proxies expect in a 401 or a 504.

pub(crate) mod authorize;
mod credential_check;
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

/// Returns the router of the address of proxies. It has no CORS, because a proxy asks about preflight requests as well,
/// and must get a decision about them.
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
