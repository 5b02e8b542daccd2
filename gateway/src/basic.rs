//! The HTTP Basic variant: users and one protected endpoint, no roles, no tokens.

use crate::{
    endpoints::{index, protected, public, register},
    middleware,
    openapi::{Scheme, Variant, docs_ui, document},
    settings::PublicSettings,
};
use axum::{Router, middleware::map_response, response::Response};
use http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE};
use rolegate_auth_client::AuthClient;
use utoipa_axum::{router::OpenApiRouter, routes};

const VARIANT: Variant = Variant {
    title: "Rolegate, HTTP Basic",
    description: include_str!("basic/description.md"),
    scheme: Scheme::Basic,
};

/// Every route; method and path stand with the endpoint. `get` answers HEAD as well.
fn routes() -> OpenApiRouter<AuthClient> {
    OpenApiRouter::default()
        // anybody
        .routes(routes!(index::basic))
        .routes(routes!(register::register))
        .routes(routes!(public::public))
        // any user: the handler asks for `BasicCredentials` and has them verified
        .routes(routes!(protected::basic))
}

/// The whole variant.
pub(crate) fn router(auth: AuthClient, settings: &PublicSettings) -> Router {
    let (routes, paths) = routes().split_for_parts();
    let mut routes = routes.layer(map_response(challenge));
    if settings.api_docs {
        routes = routes.merge(docs_ui::routes(&document(VARIANT, paths)));
    }
    middleware::apply("basic", routes, settings).with_state(auth)
}

/// `ApiError` challenges for a bearer token, which is of no use here. Exactly `Basic`: the API's
/// contract leaves out the realm that RFC 7617, section 2, asks for.
async fn challenge(mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic"));
    }
    response
}

#[cfg(test)]
mod tests;
