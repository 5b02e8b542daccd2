//! What happens around every request of both variants.

pub(crate) mod catch_panic;
mod client_ip;
pub(crate) mod cors;
mod drain_body;
pub(crate) mod metrics;
mod request_origin;
mod request_span;

use crate::settings::PublicSettings;
use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use catch_panic::catch_panic;
use drain_body::drain_unread;
use http::{
    HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS},
};
use metrics::RequestMetrics;
use request_origin::{RequestOrigin, X_REQUEST_ID};
use rolegate_auth_client::{CallError, axum::ApiError};
use rolegate_service_runtime::cidr_set::CidrSet;
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;
use tracing::Instrument as _;

/// What all requests of a variant have around them.
#[derive(Clone)]
struct MiddlewareState {
    /// The variant's name in metrics.
    variant: &'static str,
    trusted_proxies: Arc<CidrSet>,
}

/// Adds what both variants share to their routes. One layer, not one for each thing: a layer costs
/// a request two allocations and a clone of everything below it. CORS, where there is any, stands
/// within: what it answers itself is a request like any other.
pub(crate) fn apply<S>(
    variant: &'static str,
    routes: Router<S>,
    settings: &PublicSettings,
) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let trusted_proxies = Arc::new(settings.trusted_proxies.clone());
    let routes = routes
        .fallback(async || ApiError::new(StatusCode::NOT_FOUND, "Not Found"))
        // axum adds `Allow`.
        .method_not_allowed_fallback(async || {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
        });
    let routes = settings.cors_allowed_origins.layer(routes);
    routes.layer(from_fn_with_state(MiddlewareState { variant, trusted_proxies }, handle))
}

/// Reads from the inside out: a panic is answered before the body is drained, and what is logged,
/// traced and counted is what the client gets.
async fn handle(
    State(state): State<MiddlewareState>,
    mut request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let metrics = RequestMetrics::start(state.variant, &method, route.clone());
    let origin = RequestOrigin::of(&request, &state.trusted_proxies);
    let span = request_span::start(&request, &method, route.as_ref(), &origin);
    request.extensions_mut().insert(origin.call_context());
    let request_id = origin.request_id_header();
    let context =
        RequestContext { request_id: request_id.clone(), client_address: origin.client_address };
    let answered = async {
        let call = |request| catch_panic(next.run(request));
        let response = drain_unread(request, call).await;
        if response.status().is_server_error() {
            log_fault(&method, route.as_ref(), &response);
        }
        request_span::finish(&response);
        response
    };
    let mut response = context.scope(answered.instrument(span)).await;
    metrics.end(response.status());
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_REQUEST_ID, request_id);
    // Tokens, facts about users, refusals: nothing is stored unless the endpoint says that it may.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Names the route as it stands in the table, never the URL, which is the client's text.
fn log_fault(method: &Method, route: Option<&MatchedPath>, response: &Response) {
    let route = route.map_or("", MatchedPath::as_str);
    let status = response.status().as_u16();
    let cause = response.extensions().get::<CallError>().map(tracing::field::display);
    tracing::warn!(%method, route, status, cause, "answered with a fault");
}

#[cfg(test)]
mod tests {
    use super::apply;
    use crate::{
        settings::Settings,
        test_support::{bare, send},
    };
    use axum::{Router, routing::get};

    #[tokio::test]
    async fn a_panic_is_a_problem_without_its_cause_and_the_next_request_is_served() {
        async fn fails() {
            panic!("hunter2");
        }
        let inner = Router::new().route("/", get(fails)).route("/well", get(async || ()));
        for origins in ["", "*"] {
            let settings = Settings::from_args(&["--cors-allowed-origins", origins]).expect("good");
            let router = apply("bearer", inner.clone(), &settings.public);
            let answer = send(&router, bare("GET", "/")).await;
            answer.assert_error(500, "Internal server error.");
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
            // The page that caused it may read it, where pages may read anything.
            assert_eq!(answer.header("access-control-allow-origin"), origins);
            assert_eq!(send(&router, bare("GET", "/well")).await.status, 200);
        }
    }
}
