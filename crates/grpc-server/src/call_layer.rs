//! The layer around all services of a server. It refuses calls with a malformed head, limits unfinished
//! messages, and adds metrics, a span, and the request context of log lines. Request ids and traces are
//! accepted only from trusted callers.

mod call;

use crate::{call_head, caller::Caller};
use call::Call;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use rolegate_http_server::memory_budget::Reservation;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::{RequestId, metadata};
use rolegate_telemetry::{request_context::RequestContext, traces};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tonic::body::Body;
use tower::Service;
use tracing::{Instrument as _, Span};

pub(crate) use call::register_metrics;

/// As a constant, this name is parsed once and not with each call.
const REQUEST_ID: HeaderName = HeaderName::from_static(metadata::REQUEST_ID);

/// Wraps the services of a server, so that every call passes this layer. It is a hand-written tower service,
/// because axum's middleware would allocate memory four more times for each call.
#[derive(Clone, Debug)]
pub(crate) struct CallObserver<S> {
    pub(crate) services: S,
    pub(crate) trusted: Arc<CidrSet>,
}

impl<S> Service<Request<Body>> for CallObserver<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Future: Send + 'static, Error: 'static>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.services.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let call = Call::start(request.uri().path());
        let refusal = call_head::refusal(request.headers());
        let caller = Caller::identify(&request, &self.trusted);
        let context = request_context(&request, &caller);
        let span = start_span(&request, &caller);
        let request = match caller.message_quota {
            Some(quota) => request.map(|body| Body::new(quota.count(body))),
            None => request,
        };
        if let Some(refusal) = refusal {
            let refuse = async move { Ok(call.refuse(refusal)) };
            return Box::pin(context.scope(refuse.instrument(span)));
        }
        let response = call.measure(self.services.call(request));
        let serve = async move { response.await.map(keep_reservation) };
        Box::pin(context.scope(serve.instrument(span)))
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

fn request_context<B>(request: &Request<B>, caller: &Caller) -> RequestContext {
    let reported = if caller.is_trusted {
        parse_request_ids(request.headers())
    } else {
        None
    };
    RequestContext {
        request_id: reported.unwrap_or_else(new_request_id),
        client_address: caller.client_address,
    }
}

fn start_span<B>(request: &Request<B>, caller: &Caller) -> Span {
    let span = call::span(request.uri().path());
    if caller.is_trusted {
        traces::set_remote_parent(&span, request.headers());
    }
    span
}

/// Returns the request id that the caller sent, or several ids separated by commas; `None` if the header is
/// missing, given twice or malformed.
fn parse_request_ids(headers: &HeaderMap) -> Option<HeaderValue> {
    let value = metadata::only_value(headers.get_all(REQUEST_ID))?;
    let are_ids = value
        .to_str()
        .ok()?
        .split(',')
        .all(|id| id.parse::<RequestId>().is_ok());
    are_ids.then(|| value.clone())
}

fn new_request_id() -> HeaderValue {
    // The conversion never fails, because an id consists of characters that a header may have.
    HeaderValue::from_str(RequestId::new_random().as_str()).unwrap_or(HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests {
    use super::request_context;
    use crate::{caller::Caller, connection::Peer, unfinished_messages::ConnectionQuota};
    use http::Request;

    fn request_id(peer: &str, sent: &[&str]) -> String {
        let mut request = Request::builder().uri("/rolegate.auth.v1.AuthService/Login");
        for id in sent {
            request = request.header("x-request-id", *id);
        }
        let peer = Peer::Tcp {
            address: peer.parse().expect("an address"),
            certificate: None,
            quota: ConnectionQuota::default(),
        };
        let request = request.extension(peer).body(()).expect("a request");
        let trusted = "10.0.0.0/8".parse().expect("a network");
        let context = request_context(&request, &Caller::identify(&request, &trusted));
        context.request_id.to_str().expect("text").to_owned()
    }

    #[test]
    fn request_ids_are_accepted_from_trusted_callers_only() {
        for sent in ["a", "a,b,c"] {
            assert_eq!(request_id("10.0.0.1", &[sent]), sent);
            assert_ne!(request_id("192.0.2.1", &[sent]), sent);
        }
    }

    #[test]
    fn malformed_request_ids_are_replaced() {
        for sent in [
            &["a b"][..],
            &["a,"],
            &[",a"],
            &["a,,b"],
            &[""],
            &["a", "b"],
            &[],
        ] {
            let id = request_id("10.0.0.1", sent);
            assert!(
                id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{sent:?}"
            );
        }
    }
}
