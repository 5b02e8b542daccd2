//! Traces calls: client spans with the attributes of OpenTelemetry's RPC conventions, and the trace context
//! in the headers of the request (W3C Trace Context).

use crate::call::NEVER_INDEXED;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use opentelemetry::{Context, global};
use std::collections::HashMap;
use tonic::{Code, Status};
use tracing::{Instrument as _, Span, field::Empty, info_span};

/// Sends the request of a call in a span, and adds the context of the span to the request. Services send errors as
/// `grpc-status` in the head of the response. For the caller, a call without a response is UNAVAILABLE.
pub(crate) async fn trace<B, R, F>(
    mut request: Request<B>,
    send: impl FnOnce(Request<B>) -> F,
) -> Result<Response<R>, Status>
where
    F: Future<Output = Result<Response<R>, Status>>,
{
    let span = create(request.uri().path());
    if span.is_disabled() {
        return send(request).await;
    }
    inject_context(&span, request.headers_mut());
    let result = send(request).instrument(span.clone()).await;
    let code = match &result {
        Ok(response) => {
            Status::from_header_map(response.headers()).map_or(Code::Ok, |status| status.code())
        }
        Err(_) => Code::Unavailable,
    };
    span.record("rpc.grpc.status_code", i32::from(code));
    if code != Code::Ok {
        span.record("otel.status_code", "ERROR");
    }
    result
}

fn create(path: &str) -> Span {
    let path = path.trim_start_matches('/');
    let (service, method) = path.split_once('/').unwrap_or((path, ""));
    info_span!(
        "call",
        otel.name = path,
        otel.kind = "client",
        otel.status_code = Empty,
        rpc.system = "grpc",
        rpc.service = service,
        rpc.method = method,
        rpc.grpc.status_code = Empty,
    )
}

/// Adds the trace context of the span to the headers of a request.
fn inject_context(span: &Span, headers: &mut HeaderMap) {
    let context = span.in_scope(Context::current);
    let mut fields = HashMap::new();
    global::get_text_map_propagator(|trace| trace.inject_context(&context, &mut fields));
    for (name, value) in fields {
        // The propagator also sets an empty `tracestate`.
        if value.is_empty() {
            continue;
        }
        if let Ok(name) = name.parse::<HeaderName>()
            && let Ok(mut value) = HeaderValue::try_from(value)
        {
            value.set_sensitive(NEVER_INDEXED);
            headers.insert(name, value);
        }
    }
}
