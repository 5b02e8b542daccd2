//! What happens around every request of both variants.

use crate::{client_address, panics, unread_body};
use auth_client::{CallError, axum::Problem};
use axum::{
    Router,
    extract::{MatchedPath, Request},
    middleware::{Next, from_fn, from_fn_with_state, map_response},
    response::Response,
};
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS},
};
use service_runtime::networks::Networks;
use std::sync::Arc;

/// Adds what both variants share to their routes. The last layer is the outermost.
pub(crate) fn around<S>(routes: Router<S>, trusted_proxies: Arc<Networks>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    routes
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, "Not Found"))
        // axum adds `Allow`.
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
        })
        .layer(from_fn_with_state(trusted_proxies, client_address::pass_on))
        .layer(from_fn(panics::answer))
        .layer(from_fn(unread_body::drain))
        .layer(map_response(nosniff))
        .layer(from_fn(log_faults))
}

/// For answers that hold a token or facts about a user.
pub(crate) async fn no_store(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn nosniff(mut response: Response) -> Response {
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Names the route as it stands in the table, never the URL, which is the client's text.
async fn log_faults(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    if response.status().is_server_error() {
        let route = route.as_ref().map_or("", MatchedPath::as_str);
        let status = response.status().as_u16();
        let cause = response.extensions().get::<CallError>().map(tracing::field::display);
        tracing::warn!(%method, route, status, cause, "answered with a fault");
    }
    response
}

#[cfg(test)]
mod tests {
    use super::around;
    use crate::answer::{Answer, bare};
    use axum::{Router, routing::get};

    #[tokio::test]
    async fn a_panic_is_a_problem_without_its_cause_and_the_next_request_is_served() {
        async fn fails() {
            panic!("hunter2");
        }
        let inner = Router::new().route("/", get(fails)).route("/well", get(async || ()));
        let router = around(inner, std::sync::Arc::default());
        let answer = Answer::to(&router, bare("GET", "/")).await;
        answer.is_problem(500, "Internal server error.");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(Answer::to(&router, bare("GET", "/well")).await.status, 200);
    }
}
