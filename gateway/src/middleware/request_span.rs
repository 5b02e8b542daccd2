//! The span of a request, by OpenTelemetry's conventions for HTTP servers. Never the path or the
//! query: they are the client's text and may hold what nobody should read. The route tells enough.

use super::{metrics::method_name, request_origin::RequestOrigin};
use axum::{
    extract::{MatchedPath, Request},
    response::Response,
};
use http::Method;
use rolegate_telemetry::traces;
use tracing::{Span, field::Empty, info_span};

/// Disabled, and next to free, where nobody traces.
pub(crate) fn start(
    request: &Request,
    method: &Method,
    route: Option<&MatchedPath>,
    who: &RequestOrigin,
) -> Span {
    let method = method_name(method);
    let route = route.map(MatchedPath::as_str);
    let span = info_span!(
        "request",
        // The name is the method alone where no route matched.
        otel.name = %Name(method, route),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        url.scheme = "http",
        client.address = who.client_address.map(tracing::field::display),
        rolegate.request_id = who.request_id.as_str(),
    );
    if who.is_trusted {
        traces::set_remote_parent(&span, request.headers());
    }
    span
}

/// Notes the answer on the span of this request, which is the current one.
pub(crate) fn finish(response: &Response) {
    let span = Span::current();
    span.record("http.response.status_code", response.status().as_u16());
    if response.status().is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

struct Name<'a>(&'a str, Option<&'a str>);

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0)?;
        self.1.map_or(Ok(()), |route| write!(formatter, " {route}"))
    }
}
