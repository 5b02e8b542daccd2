//! The HTTP Basic variant: users and one protected endpoint, no roles, no tokens.

use crate::{
    endpoints::{index, protected, public, register},
    every_request::{around, no_store},
};
use auth_client::AuthClient;
use axum::{
    Router,
    middleware::map_response,
    response::Response,
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE};
use service_runtime::networks::Networks;
use std::sync::Arc;

/// Every route, its method and who may. `get` answers HEAD as well.
pub(crate) fn router(auth: AuthClient, trusted_proxies: Arc<Networks>) -> Router {
    let routes = Router::new()
        // anybody
        .route("/", get(index::basic))
        .route("/register", post(register::register))
        .route("/public", get(public::public))
        // any user: the handler asks for `BasicCredentials` and has them verified
        .route("/protected", get(protected::protected).layer(map_response(no_store)))
        .layer(map_response(challenge));
    around(routes, trusted_proxies).with_state(auth)
}

/// `Problem` challenges for a bearer token, which is of no use here. Exactly `Basic`: the API's
/// contract leaves out the realm that RFC 7617, section 2, asks for.
async fn challenge(mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic"));
    }
    response
}

#[cfg(test)]
mod tests;
