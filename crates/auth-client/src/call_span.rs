//! A span for each call that is made for a request that is traced, and the trace's way to the other
//! side (W3C Trace Context). Attributes by OpenTelemetry's conventions for RPC.

use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use opentelemetry::{Context, global, propagation::Injector};
use tracing::{Span, field::Empty, info_span};

/// The span of this call, which the request now tells the other side about; disabled where nobody
/// traces. What belongs to no request, such as the watch over a replica's health, is not traced.
pub(crate) fn of<B>(request: &mut Request<B>) -> Span {
    if Span::current().is_none() {
        return Span::none();
    }
    let path = request.uri().path().trim_start_matches('/');
    let (service, method) = path.split_once('/').unwrap_or((path, ""));
    let span = info_span!(
        "call",
        otel.name = path,
        otel.kind = "client",
        otel.status_code = Empty,
        rpc.system = "grpc",
        rpc.service = service,
        rpc.method = method,
        rpc.grpc.status_code = Empty,
    );
    if !span.is_disabled() {
        let context = span.in_scope(Context::current);
        let mut headers = Headers(request.headers_mut());
        global::get_text_map_propagator(|trace| trace.inject_context(&context, &mut headers));
    }
    span
}

/// Notes how the call ended. A refusal stands in the head of the answer; an error without any answer
/// is UNAVAILABLE (14) to the caller.
pub(crate) fn end<B, E>(span: &Span, answer: &Result<Response<B>, E>) {
    let code = match answer {
        Ok(answer) => answer
            .headers()
            .get("grpc-status")
            .map_or(Some(0), |code| code.to_str().ok()?.parse().ok())
            .unwrap_or(2_i64),
        Err(_) => 14,
    };
    span.record("rpc.grpc.status_code", code);
    if code != 0 {
        span.record("otel.status_code", "ERROR");
    }
}

struct Headers<'a>(&'a mut HeaderMap);

impl Injector for Headers<'_> {
    fn set(&mut self, key: &str, value: String) {
        // An empty `tracestate` says nothing.
        if !value.is_empty()
            && let Ok(name) = HeaderName::from_bytes(key.as_bytes())
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            self.0.insert(name, value);
        }
    }
}
