//! The middleware around every request of both variants.

mod console_cookie;
mod cors;
mod denial_audit;
pub(crate) mod drain_body;
pub(crate) mod metrics;
pub(crate) mod refusal_log;
pub(crate) mod request_source;

use crate::{memory::MemoryBudgets, settings::PublicSettings};
use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use drain_body::drain_unread;
use futures_util::FutureExt as _;
use http::{
    HeaderValue,
    header::{AUTHORIZATION, CACHE_CONTROL, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS},
};
use metrics::{RequestMetrics, finish_span, start_span};
use request_source::{RequestSource, X_REQUEST_ID};
use rolegate_auth_client::{CallContext, axum::ApiError};
use rolegate_http_server::{host_header, memory_budget::MemoryBudget};
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::http::HttpReason;
use rolegate_sign_in::origin::is_https_request;
use rolegate_telemetry::request_context::RequestContext;
use std::{panic::AssertUnwindSafe, sync::Arc};
use tracing::Instrument as _;

/// For a year, browsers reach the host by HTTPS only. Other hosts below it are left to whoever runs them.
const HTTPS_FOR_A_YEAR: HeaderValue = HeaderValue::from_static("max-age=31536000");

struct MiddlewareState {
    /// The label in metrics.
    variant: &'static str,
    trusted_proxies: CidrSet,
    /// For request bodies.
    memory: MemoryBudget,
    takes_console_cookie: bool,
}

/// Adds the fallbacks and the middleware of both variants to `routes`. With `takes_console_cookie`, the session in the
/// console's cookie stands for a token.
///
/// It is one layer, because every layer costs a request two allocations and a clone of the services
/// below it. CORS is inside, so that preflights are logged and counted too.
pub(crate) fn apply<S>(
    variant: &'static str,
    routes: Router<S>,
    takes_console_cookie: bool,
    settings: &PublicSettings,
    memory: &MemoryBudgets,
) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let routes = routes
        .fallback(async || ApiError::http(HttpReason::RouteNotFound, "Not Found"))
        // axum adds `Allow`.
        .method_not_allowed_fallback(async || {
            ApiError::http(HttpReason::MethodNotAllowed, "Method Not Allowed")
        });
    let routes = match cors::layer(&settings.cors_allowed_origins) {
        // Responses to panics need CORS headers too.
        Some(cors) => routes
            .layer(from_fn(async |request, next: Next| {
                catch_panic(next.run(request)).await
            }))
            .layer(cors),
        None => routes,
    };
    let state = MiddlewareState {
        variant,
        trusted_proxies: settings.trusted_proxies.clone(),
        memory: memory.requests.clone(),
        takes_console_cookie,
    };
    routes.layer(from_fn_with_state(Arc::new(state), handle))
}

/// A panic becomes a response before the body is drained, and logs, spans and metrics describe the
/// response that the client gets.
async fn handle(
    State(state): State<Arc<MiddlewareState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let metrics = RequestMetrics::start(state.variant, &method, route.clone());
    let source = RequestSource::from_request(&request, &state.trusted_proxies);
    let span = start_span(&request, &method, route.as_ref(), &source);
    let RequestSource {
        client_address,
        request_id,
        ..
    } = source;
    request.extensions_mut().insert(CallContext {
        client_address,
        request_id: Some(request_id),
    });
    // Cannot fail: every character of a request id is valid in a header.
    let request_id =
        HeaderValue::from_str(request_id.as_str()).unwrap_or(HeaderValue::from_static("-"));
    let context = RequestContext {
        request_id: request_id.clone(),
        client_address,
    };
    if state.takes_console_cookie {
        console_cookie::use_as_token(request.headers_mut());
    }
    let authorization = request.headers().get(AUTHORIZATION).cloned();
    // The host in a proxy's question is that of an application, which decides about it.
    let is_https = state.variant != "forward-auth" && is_https_request(request.headers());
    let respond = async {
        let response = match host_header::refusal(&request) {
            Some(refusal) => refusal,
            None => {
                drain_unread(request, &state.memory, |request| {
                    catch_panic(next.run(request))
                })
                .await
            }
        };
        denial_audit::record(&method, route.as_ref(), authorization, &response);
        refusal_log::record(&method, route.as_ref(), &response);
        finish_span(&response);
        response
    };
    let mut response = context.scope(respond.instrument(span)).await;
    metrics.finish(response.status());
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_REQUEST_ID, request_id);
    if is_https {
        headers.insert(STRICT_TRANSPORT_SECURITY, HTTPS_FOR_A_YEAR);
    }
    // Responses hold tokens and user data, so caching is opt-in for each endpoint.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Turns a panic in a handler into a 500, so that other requests on the connection continue. The panic
/// hook has logged the cause by the time the response is returned.
async fn catch_panic(handler: impl Future<Output = Response>) -> Response {
    // Requests share only the gRPC clients and the connection, which survive a panic.
    AssertUnwindSafe(handler)
        .catch_unwind()
        .await
        .unwrap_or_else(|_panic| {
            ApiError::http(HttpReason::Internal, "Internal server error.").into_response()
        })
}

#[cfg(test)]
mod tests {
    use super::apply;
    use crate::{
        memory::MemoryBudgets,
        settings::Settings,
        test_support::{bare, send},
    };
    use axum::{Router, routing::get};
    use rolegate_proto::http::HttpReason;

    #[tokio::test]
    async fn a_request_without_host_gets_the_headers_of_every_response() {
        let settings = Settings::from_args(&[]).expect("good");
        let inner = Router::new().route("/", get(async || ()));
        let router = apply(
            "bearer",
            inner,
            false,
            &settings.public,
            &MemoryBudgets::new(&settings.public),
        );
        let mut request = bare("GET", "/");
        request.headers_mut().clear();
        let response = send(&router, request).await;
        response.assert_error(400, "Host header is missing, repeated or malformed.");
        response.assert_reason(HttpReason::HostInvalid.as_str());
        assert_eq!(response.header("connection"), "close");
        assert_eq!(response.header("x-content-type-options"), "nosniff");
        assert_eq!(response.header("cache-control"), "no-store");
        assert_eq!(response.header("x-request-id").len(), 32);
    }

    #[tokio::test]
    async fn browsers_are_kept_on_https_where_they_came_by_it() {
        let settings = Settings::from_args(&[]).expect("good");
        let inner = Router::new().route("/", get(async || ()));
        let router = apply(
            "basic",
            inner,
            false,
            &settings.public,
            &MemoryBudgets::new(&settings.public),
        );
        let sent = async |path: &str, host: &str, schemes: &[&str]| {
            let mut request = bare("GET", path);
            let headers = request.headers_mut();
            headers.insert("host", host.parse().expect("a value"));
            for scheme in schemes {
                headers.append("x-forwarded-proto", scheme.parse().expect("a value"));
            }
            let response = send(&router, request).await;
            response.header("strict-transport-security").to_owned()
        };
        for (path, host, schemes) in [
            ("/", "app.example.org", &["https"][..]),
            ("/", "192.0.2.1:8443", &["https"]),
            ("/unknown", "app.example.org", &["https"]),
            ("/", "app.example.org", &["HTTPS"]),
            ("/", "app.example.org", &["https, https"]),
            ("/", "app.example.org", &["https", "https"]),
        ] {
            let header = sent(path, host, schemes).await;
            assert_eq!(header, "max-age=31536000", "{path} {host} {schemes:?}");
        }
        // Whoever develops at this machine reaches other ports of it without encryption.
        for (host, schemes) in [
            ("app.example.org", &[][..]),
            ("app.example.org", &["http"]),
            ("app.example.org", &["https", "http"]),
            ("app.example.org", &["https, http"]),
            ("localhost:8443", &["https"]),
            ("app.localhost", &["https"]),
            ("[::1]", &["https"]),
        ] {
            assert_eq!(sent("/", host, schemes).await, "", "{host} {schemes:?}");
        }
    }

    #[tokio::test]
    async fn panic_is_a_500_without_its_cause_and_the_next_request_succeeds() {
        async fn fails() {
            panic!("hunter2");
        }
        let inner = Router::new()
            .route("/", get(fails))
            .route("/ok", get(async || ()));
        for origins in ["", "*"] {
            let settings = Settings::from_args(&["--cors-allowed-origins", origins]).expect("good");
            let router = apply(
                "bearer",
                inner.clone(),
                false,
                &settings.public,
                &MemoryBudgets::new(&settings.public),
            );
            let response = send(&router, bare("GET", "/")).await;
            response.assert_error(500, "Internal server error.");
            assert_eq!(response.header("x-content-type-options"), "nosniff");
            assert_eq!(response.header("access-control-allow-origin"), origins);
            assert_eq!(send(&router, bare("GET", "/ok")).await.status, 200);
        }
    }
}
