//! Serves the HTTP Basic variant: users and one protected endpoint, without roles and tokens.

use crate::{
    endpoints::{access, accounts},
    memory::MemoryBudgets,
    middleware::{self, console_cookie::ConsoleCookie},
    openapi::{complete_document, docs_ui, variant::Variant},
    settings::PublicSettings,
    state::GatewayState,
};
use axum::{Router, middleware::map_response, response::Response};
use http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE};
use rolegate_proto::http::BASIC_CHALLENGE;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder};
use utoipa_axum::{router::OpenApiRouter, routes};

fn variant() -> Variant {
    Variant {
        title: "Rolegate, HTTP Basic",
        description: include_str!("basic/description.md"),
        scheme_name: "basic",
        scheme: HttpBuilder::new()
            .scheme(HttpAuthScheme::Basic)
            .description(Some("The username and the password, in UTF-8."))
            .build(),
        unauthenticated: &[
            "Not authenticated.",
            "Invalid username or password.",
            "One-time code required.",
        ],
        challenge: "`Basic`",
    }
}

/// Returns the routes of the variant, grouped by the access that they need, as in [`bearer`](crate::bearer).
fn routes() -> OpenApiRouter<GatewayState> {
    OpenApiRouter::default()
        // The public routes:
        .routes(routes!(access::basic_index))
        .routes(routes!(accounts::register))
        .routes(routes!(access::public))
        // The route for any user, whose handler verifies the credentials of HTTP Basic:
        .routes(routes!(access::basic_protected))
}

/// Returns the router of the variant with its middleware.
pub(crate) fn router(
    state: GatewayState,
    settings: &PublicSettings,
    memory: &MemoryBudgets,
) -> Router {
    let (routes, annotations) = routes().split_for_parts();
    let mut routes = routes.layer(map_response(challenge));
    if settings.api_docs {
        let document = complete_document(variant(), annotations);
        // The console is at the address of the bearer-token variant.
        let has_console = false;
        routes = routes.merge(docs_ui::routes(&document, has_console));
    }
    middleware::apply("basic", routes, ConsoleCookie::Ignored, settings, memory).with_state(state)
}

/// Replaces the challenge `Bearer`, which `ApiError` sends with a 401, with `Basic`. RFC 7617, section 2, requires a
/// realm, but the API contract has none.
async fn challenge(mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static(BASIC_CHALLENGE));
    }
    response
}

#[cfg(test)]
mod tests;
