//! What happens around every request of both variants.

use crate::{
    measured::Measured,
    panics, request_span,
    settings::PublicSettings,
    unread_body,
    who_asks::{WhoAsks, X_REQUEST_ID},
};
use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use http::{
    HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS},
};
use rolegate_auth_client::{CallError, axum::ApiError};
use rolegate_service_runtime::cidr_set::CidrSet;
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;
use tracing::Instrument as _;

/// What all requests of a variant have around them.
#[derive(Clone)]
struct Surroundings {
    /// The variant's name in metrics.
    variant: &'static str,
    trusted_proxies: Arc<CidrSet>,
}

/// Adds what both variants share to their routes. One layer, not one for each thing: a layer costs
/// a request two allocations and a clone of everything below it. CORS, where there is any, stands
/// within: what it answers itself is a request like any other.
pub(crate) fn around<S>(
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
    let routes = settings.cors_allowed_origins.around(routes);
    routes.layer(from_fn_with_state(Surroundings { variant, trusted_proxies }, every_request))
}

/// Reads from the inside out: a panic is answered before the body is drained, and what is logged,
/// traced and counted is what the client gets.
async fn every_request(
    State(surroundings): State<Surroundings>,
    mut request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let measured = Measured::start(surroundings.variant, &method, route.clone());
    let who = WhoAsks::of(&request, &surroundings.trusted_proxies);
    let span = request_span::of(&request, &method, route.as_ref(), &who);
    request.extensions_mut().insert(who.call_context());
    let request_id = who.request_id_header();
    let context =
        RequestContext { request_id: request_id.clone(), client_address: who.client_address };
    let answered = async {
        let handle = |request| panics::answered(next.run(request));
        let response = unread_body::drained(request, handle).await;
        if response.status().is_server_error() {
            log_fault(&method, route.as_ref(), &response);
        }
        request_span::end(&response);
        response
    };
    let mut response = context.scope(answered.instrument(span)).await;
    measured.end(response.status());
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
    use super::around;
    use crate::{
        answer::{Answer, bare},
        settings::Settings,
    };
    use axum::{Router, routing::get};

    #[tokio::test]
    async fn a_panic_is_a_problem_without_its_cause_and_the_next_request_is_served() {
        async fn fails() {
            panic!("hunter2");
        }
        let inner = Router::new().route("/", get(fails)).route("/well", get(async || ()));
        for origins in ["", "*"] {
            let settings = Settings::of(&["--cors-allowed-origins", origins]).expect("good");
            let router = around("bearer", inner.clone(), &settings.public);
            let answer = Answer::to(&router, bare("GET", "/")).await;
            answer.is_problem(500, "Internal server error.");
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
            // The page that caused it may read it, where pages may read anything.
            assert_eq!(answer.header("access-control-allow-origin"), origins);
            assert_eq!(Answer::to(&router, bare("GET", "/well")).await.status, 200);
        }
    }
}
