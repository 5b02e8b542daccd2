//! The layer around all services of a server: metrics, the trace, and the request context of log lines.
//! Request ids and traces are accepted from trusted callers only.

mod call;

use crate::{caller::Caller, unfinished::Unfinished};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use call::Call;
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt as _;
use rolegate_proto::{RequestId, metadata::REQUEST_ID};
use rolegate_service_runtime::{cidr_set::CidrSet, memory_budget::Reservation};
use rolegate_telemetry::{request_context::RequestContext, traces};
use std::{net::IpAddr, sync::Arc};
use tonic::service::Routes;
use tracing::{Instrument as _, Span};

pub(crate) use call::register_metrics;

/// The services within this layer, which trusts callers in the networks `trusted`.
pub(crate) fn apply(routes: Routes, trusted: &Arc<CidrSet>) -> Router {
    routes.into_axum_router().layer(from_fn_with_state(Arc::clone(trusted), observe))
}

async fn observe(State(trusted): State<Arc<CidrSet>>, request: Request, next: Next) -> Response {
    let call = Call::start(request.uri().path());
    let (context, span, unfinished) = context_and_span(&request, &trusted);
    let request = match unfinished {
        Some((unfinished, address)) => {
            request.map(|body| Body::new(unfinished.count(body, address)))
        }
        None => request,
    };
    let mut response = context.scope(call.measure(next.run(request)).instrument(span)).await;
    match response.extensions_mut().remove() {
        Some(reservation) => hold(response, reservation),
        None => response,
    }
}

/// The response, whose message stays reserved until it is written.
fn hold(response: Response, reservation: Arc<Reservation>) -> Response {
    let hold = move |bytes| reservation.hold(bytes);
    response.map(|body| Body::new(body.map_frame(move |frame| frame.map_data(&hold))))
}

fn context_and_span<B>(
    request: &http::Request<B>,
    trusted: &CidrSet,
) -> (RequestContext, Span, Option<(Unfinished, Option<IpAddr>)>) {
    let Caller { is_trusted, client_address, unfinished } = Caller::of(request, trusted);
    let request_id = is_trusted.then(|| parse_request_ids(request.headers())).flatten();
    let request_id = request_id.unwrap_or_else(new_request_id);
    let span = call::span(request.uri().path());
    if is_trusted {
        traces::set_remote_parent(&span, request.headers());
    }
    (RequestContext { request_id, client_address }, span, unfinished)
}

/// One id, or several separated by commas; `None` if one of them is malformed.
fn parse_request_ids(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut values = headers.get_all(REQUEST_ID).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let are_ids = value.to_str().ok()?.split(',').all(|id| id.parse::<RequestId>().is_ok());
    are_ids.then(|| value.clone())
}

fn new_request_id() -> HeaderValue {
    // Never fails: an id consists of characters that a header may have.
    HeaderValue::from_str(RequestId::new_random().as_str()).unwrap_or(HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests {
    use super::context_and_span;
    use crate::connection::ConnectionInfo;
    use http::Request;
    use std::net::SocketAddr;
    use tonic::transport::server::TcpConnectInfo;

    fn request_id(peer: &str, sent: &[&str]) -> String {
        let mut request = Request::builder().uri("/rolegate.auth.v1.AuthService/Login");
        for id in sent {
            request = request.header("x-request-id", *id);
        }
        let remote_addr: Option<SocketAddr> = Some(peer.parse().expect("an address"));
        let info = ConnectionInfo::of(TcpConnectInfo { local_addr: None, remote_addr });
        let request = request.extension(info).body(()).expect("a request");
        let (context, ..) = context_and_span(&request, &"10.0.0.0/8".parse().expect("a network"));
        context.request_id.to_str().expect("text").to_owned()
    }

    #[test]
    fn request_ids_are_accepted_from_trusted_callers_only() {
        for sent in ["a", "a,b,c"] {
            assert_eq!(request_id("10.0.0.1:5", &[sent]), sent);
            assert_ne!(request_id("192.0.2.1:5", &[sent]), sent);
        }
    }

    #[test]
    fn malformed_request_ids_are_replaced() {
        for sent in [&["a b"][..], &["a,"], &[",a"], &["a,,b"], &[""], &["a", "b"], &[]] {
            let id = request_id("10.0.0.1:5", sent);
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sent:?}");
        }
    }
}
