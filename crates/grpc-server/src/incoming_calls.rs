//! Takes every incoming call from its head to its response. It refuses calls with a malformed head, limits unfinished messages, and
//! adds metrics, a span, and the request context of log lines. Request ids and traces are accepted only from trusted
//! callers.

use crate::{
    call::{Caller, check_head},
    connection::Peer,
    methods::{Method, MethodTable, ResponseFuture, split_path},
};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use rolegate_http_server::memory_budget::Reservation;
use rolegate_program::{cidr_set::CidrSet, traces};
use std::{
    convert::Infallible,
    future::ready,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};
use tonic::{Code, body::Body};
use tower::Service;
use tracing::{Instrument as _, Span, field::Empty, info_span};

/// Serves the calls of all connections. It is a hand-written tower service, because a router and its middleware would
/// allocate memory several more times for each call.
#[derive(Clone)]
pub(crate) struct IncomingCalls {
    pub(crate) methods: Arc<MethodTable>,
    pub(crate) trusted: Arc<CidrSet>,
}

impl Service<Request<Body>> for IncomingCalls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let headers = request.headers();
        let path = request.uri().path();
        let refusal = check_head(headers);
        // A call that is refused reaches no method. Its path may name none, so it does not become a label.
        let method = match refusal {
            Some(_) => &self.methods.unknown,
            None => self.methods.find(path),
        };
        let call = CallInProgress::start(Arc::clone(method));
        let caller = Caller::identify(&request, &self.trusted);
        let context = caller.request_context(headers);
        let span = start_span(path);
        if caller.is_trusted && !span.is_disabled() {
            traces::set_remote_parent(&span, headers);
        }
        let response: ResponseFuture = match refusal {
            Some(refusal) => Box::pin(ready(refusal)),
            None => method.serve(caller, limit_message(request)),
        };
        let serve = async move {
            let response = response.await;
            call.end(&response);
            Ok(keep_reservation(response))
        };
        Box::pin(context.scope(serve.instrument(span)))
    }
}

/// Counts the bytes of the message while they arrive, unless the caller is in this process.
fn limit_message(request: Request<Body>) -> Request<Body> {
    let peer: Option<&Peer> = request.extensions().get();
    match peer.and_then(Peer::message_quota) {
        Some(quota) => request.map(|body| Body::new(quota.count(body))),
        None => request,
    }
}

/// Keeps the memory reserved for the message of a response until the message is written.
fn keep_reservation(mut response: Response<Body>) -> Response<Body> {
    let Some(reservation) = response.extensions_mut().remove::<Arc<Reservation>>() else {
        return response;
    };
    let hold = move |bytes| reservation.hold(bytes);
    response.map(|body| Body::new(body.map_frame(move |frame| frame.map_data(&hold))))
}

/// Counts a call when it is dropped: with the code of its response, or as cancelled if the caller left before.
struct CallInProgress {
    method: Arc<Method>,
    started: Instant,
    code: Option<Code>,
}

impl CallInProgress {
    fn start(method: Arc<Method>) -> Self {
        Self {
            method,
            started: Instant::now(),
            code: None,
        }
    }

    /// Records the code of the response in the metrics and in the current span.
    fn end(mut self, response: &Response<Body>) {
        let code = status(response.headers());
        self.code = Some(code);
        let span = Span::current();
        span.record("rpc.grpc.status_code", code as i32);
        if is_server_error(code) {
            span.record("otel.status_code", "ERROR");
        }
    }
}

impl Drop for CallInProgress {
    fn drop(&mut self) {
        self.method.count(self.code.unwrap_or(Code::Cancelled));
        if self.code.is_some() {
            self.method.observe(self.started.elapsed());
        }
    }
}

/// Creates a span by OpenTelemetry's conventions for RPC, for calls of Rolegate's own contracts. Other calls,
/// and calls with a very long path, get no span. Without a collector, the span is disabled.
fn start_span(path: &str) -> Span {
    const MAX_PATH: usize = 128;
    let Some((service, method)) = split_path(path) else {
        return Span::none();
    };
    if !service.starts_with("rolegate.") || path.len() > MAX_PATH {
        return Span::none();
    }
    info_span!(
        "served call",
        otel.name = &path[1..],
        otel.kind = "server",
        otel.status_code = Empty,
        rpc.system = "grpc",
        rpc.service = service,
        rpc.method = method,
        rpc.grpc.status_code = Empty,
    )
}

/// Returns the code in the head of a response. An error instead of a response is always in the head. Without a
/// status there, the call is a success so far, and its status follows in the trailers.
fn status(headers: &HeaderMap) -> Code {
    headers
        .get("grpc-status")
        .map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()))
}

fn is_server_error(code: Code) -> bool {
    use Code::{DataLoss, DeadlineExceeded, Internal, Unavailable, Unimplemented, Unknown};
    matches!(
        code,
        Unknown | DeadlineExceeded | Unimplemented | Internal | Unavailable | DataLoss
    )
}

#[cfg(test)]
mod tests;
