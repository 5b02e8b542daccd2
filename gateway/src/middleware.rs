//! Wraps every request of the three routers: `bearer`, `basic` and `forward_auth`.
//!
//! [`apply`] adds one layer to a router. A request passes it in this order:
//!
//! 1. `request_source` finds out which client and which request id the request has, and `metrics` starts its span and
//!    its measurement.
//! 2. If the request has cookies but no `Authorization`, `console_cookie` turns the session in the console's cookie
//!    into a token.
//! 3. `host_header` refuses a request without a valid `Host`. Any other request goes to the handler. If it has a body,
//!    `drain_body` afterwards reads the part that the handler did not read. A panic of the handler becomes a 500.
//! 4. `denial_audit` records a 403 in the audit log, and `refusal_log` counts and logs a 429 or a server error.
//! 5. `insert_common_headers` adds the headers that every response has.
//!
//! `cors` is inside of this layer, so preflight requests are logged and counted like all others.

pub(crate) mod console_cookie;
mod cors;
mod denial_audit;
pub(crate) mod drain_body;
pub(crate) mod metrics;
pub(crate) mod refusal_log;
pub(crate) mod request_source;

use crate::{embedded_pages::not_found, memory::MemoryBudgets, settings::PublicSettings};
use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use console_cookie::ConsoleCookie;
use drain_body::drain_unread;
use futures_util::FutureExt as _;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{
        AUTHORIZATION, CACHE_CONTROL, COOKIE, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
    },
};
use http_body::Body as _;
use metrics::{RequestMetrics, finish_span, method_name, start_span};
use request_source::{RequestSource, X_REQUEST_ID};
use rolegate_auth_client::axum::ApiError;
use rolegate_http_server::{host_header, memory_budget::MemoryBudget};
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::http::HttpReason;
use rolegate_sign_in::{headers::X_FORWARDED_PROTO, origin::is_https_request};
use std::{panic::AssertUnwindSafe, sync::Arc};
use tracing::Instrument as _;

/// The value of `Strict-Transport-Security`, which makes browsers use only HTTPS for this host for a year. Subdomains
/// are not included, because other people may run them.
const HTTPS_FOR_A_YEAR: HeaderValue = HeaderValue::from_static("max-age=31536000");

struct MiddlewareState {
    /// The value of the label `variant` in the metrics of this router.
    variant: &'static str,
    trusted_proxies: CidrSet,
    /// The memory budget that all request bodies share.
    memory: MemoryBudget,
    console_cookie: ConsoleCookie,
}

/// Adds the fallbacks and the middleware to `routes`.
///
/// The middleware is one layer, because every layer costs a request two allocations and a clone of the services below
/// it.
pub(crate) fn apply<S>(
    variant: &'static str,
    routes: Router<S>,
    console_cookie: ConsoleCookie,
    settings: &PublicSettings,
    memory: &MemoryBudgets,
) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let routes = routes
        .fallback(async || not_found())
        // axum adds the header `Allow`.
        .method_not_allowed_fallback(async || {
            ApiError::http(HttpReason::MethodNotAllowed, "Method Not Allowed")
        });
    let routes = match cors::layer(&settings.cors_allowed_origins) {
        // A panic must become a response inside of `cors`, because that response needs CORS headers, too.
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
        console_cookie,
    };
    routes.layer(from_fn_with_state(Arc::new(state), handle))
}

/// Passes a request through the middleware. A panic becomes a response before the body is drained, so logs, spans and
/// metrics describe the response that the client gets.
async fn handle(
    State(state): State<Arc<MiddlewareState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    // A client can invent any number of methods, so unknown ones share a name.
    let method_name = method_name(&method);
    let metrics = RequestMetrics::start(state.variant, method_name, route.clone());
    let source = RequestSource::from_request(&request, &state.trusted_proxies);
    let span = start_span(&request, method_name, route.as_ref(), &source);
    let context = source.insert_into(request.extensions_mut());
    let request_id = context.request_id.clone();
    let headers = request.headers_mut();
    if state.console_cookie == ConsoleCookie::Accepted
        && headers.contains_key(COOKIE)
        && !headers.contains_key(AUTHORIZATION)
    {
        console_cookie::use_as_token(headers);
    }
    let authorization = headers.get(AUTHORIZATION).cloned();
    // Responses to proxies have no `Strict-Transport-Security`, because the host belongs to an application. The
    // application sends the header itself if it wants it.
    let is_https = state.variant != "forward-auth"
        && headers.contains_key(X_FORWARDED_PROTO)
        && is_https_request(headers);
    let respond = async {
        let call_handler = |request| catch_panic(next.run(request));
        let response = match host_header::refusal(&request) {
            Some(refusal) => refusal,
            None if request.body().is_end_stream() => call_handler(request).await,
            None => drain_unread(request, &state.memory, call_handler).await,
        };
        let status = response.status();
        if status == StatusCode::FORBIDDEN {
            denial_audit::record(method_name, route.as_ref(), authorization, &response);
        }
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            refusal_log::record(&method, route.as_ref(), &response);
        }
        response
    };
    let mut response = context.scope(respond.instrument(span.clone())).await;
    finish_span(&span, response.status());
    metrics.finish(response.status());
    insert_common_headers(response.headers_mut(), request_id, is_https);
    response
}

fn insert_common_headers(headers: &mut HeaderMap, request_id: HeaderValue, is_https: bool) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_REQUEST_ID, request_id);
    if is_https {
        headers.insert(STRICT_TRANSPORT_SECURITY, HTTPS_FOR_A_YEAR);
    }
    // Responses hold tokens and user data, so only endpoints that opt in are cached.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

/// Turns a panic in a handler into a 500, so that other requests on the connection continue. The panic
/// hook has logged the cause by the time the response is returned.
async fn catch_panic(handler: impl Future<Output = Response>) -> Response {
    // What requests share survives a panic: the gRPC clients, the connection, the memory budgets, and the schedule of
    // refusals, which ignores a poisoned lock.
    AssertUnwindSafe(handler)
        .catch_unwind()
        .await
        .unwrap_or_else(|_panic| {
            ApiError::http(HttpReason::Internal, "Internal server error.").into_response()
        })
}

#[cfg(test)]
mod tests;
