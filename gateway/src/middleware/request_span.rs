//! The span of a request, by the OpenTelemetry semantic conventions for HTTP servers. It records the
//! route template, never the path or the query, which may hold secrets.

use super::{metrics::method_name, request_origin::RequestOrigin};
use axum::{
    extract::{MatchedPath, Request},
    response::Response,
};
use http::Method;
use rolegate_telemetry::traces;
use tracing::{Span, field::Empty, info_span};

/// A disabled span, which costs almost nothing, unless tracing is configured.
pub(crate) fn start(
    request: &Request,
    method: &Method,
    route: Option<&MatchedPath>,
    origin: &RequestOrigin,
) -> Span {
    let method = method_name(method);
    let route = route.map(MatchedPath::as_str);
    let span = info_span!(
        "request",
        otel.name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}")),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        url.scheme = "http",
        client.address = origin.client_address.map(tracing::field::display),
        rolegate.request_id = origin.request_id.as_str(),
    );
    if origin.is_trusted {
        traces::set_remote_parent(&span, request.headers());
    }
    span
}

/// Records the response on the current span.
pub(crate) fn finish(response: &Response) {
    let span = Span::current();
    span.record("http.response.status_code", response.status().as_u16());
    if response.status().is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}
