//! What happens around every gRPC call: it is counted and timed, its log lines carry the id of the
//! request that it serves, and it continues that request's trace. Word of both is believed from
//! trusted callers only, as word of the client's address is.

mod call;

use crate::caller;
use call::{Call, KnownCalls};
use http::{HeaderMap, HeaderValue, Request, Response};
use rolegate_proto::{RequestId, metadata::REQUEST_ID};
use rolegate_service_runtime::cidr_set::CidrSet;
use rolegate_telemetry::{request_context::RequestContext, traces};
use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tonic::metadata::MetadataMap;
use tower::{Layer, Service};
use tracing::{Instrument as _, Span};

/// The layer around all services of the server.
#[derive(Clone)]
pub(crate) struct CallLayer {
    trusted: Arc<CidrSet>,
    known: Arc<KnownCalls>,
}

impl CallLayer {
    /// Believes nobody who is not in this process.
    pub(crate) fn new(descriptors: &[u8]) -> Self {
        call::begin();
        Self { trusted: Arc::default(), known: Arc::new(KnownCalls::of(descriptors)) }
    }

    pub(crate) fn trust(&mut self, trusted: CidrSet) {
        self.trusted = Arc::new(trusted);
    }
}

impl<S> Layer<S> for CallLayer {
    type Service = CallService<S>;

    fn layer(&self, inner: S) -> CallService<S> {
        CallService { inner, layer: self.clone() }
    }
}

/// A service with the layer around it.
#[derive(Clone)]
pub(crate) struct CallService<S> {
    inner: S,
    layer: CallLayer,
}

impl<S, B, A> Service<Request<B>> for CallService<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    A: 'static,
{
    type Response = Response<A>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<A>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let call = self.layer.known.call(request.uri().path());
        let (context, span, request) = self.layer.prepare(&call, request);
        let answer = self.inner.call(request);
        let served = async move {
            let answer = answer.await;
            if let Ok(answer) = &answer {
                call.end(answer.headers());
            }
            answer
        };
        Box::pin(context.scope(served.instrument(span)))
    }
}

impl CallLayer {
    /// The request whose work this is, its span, and the call itself, unchanged.
    fn prepare<B>(&self, call: &Call, request: Request<B>) -> (RequestContext, Span, Request<B>) {
        let (mut head, body) = request.into_parts();
        let metadata = MetadataMap::from_headers(mem::take(&mut head.headers));
        let view = tonic::Request::from_parts(metadata, mem::take(&mut head.extensions), ());
        let is_trusted = caller::is_trusted(&view, &self.trusted);
        let client_address = caller::client_address(&view, &self.trusted);
        let (metadata, extensions, ()) = view.into_parts();
        head.headers = metadata.into_headers();
        head.extensions = extensions;

        let told = is_trusted.then(|| told_ids(&head.headers)).flatten();
        let request_id = told.unwrap_or_else(new_id);
        let span = call.span();
        if is_trusted {
            traces::set_remote_parent(&span, &head.headers);
        }
        let context = RequestContext { request_id, client_address };
        (context, span, Request::from_parts(head, body))
    }
}

/// The ids that a caller gave, one or several; none if any of them is none.
fn told_ids(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut values = headers.get_all(REQUEST_ID).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let are_ids = value.to_str().ok()?.split(',').all(|id| id.parse::<RequestId>().is_ok());
    are_ids.then(|| value.clone())
}

fn new_id() -> HeaderValue {
    // The characters of an id are a header's; there is no other case.
    HeaderValue::from_str(RequestId::new_random().as_str()).unwrap_or(HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests {
    use super::CallLayer;
    use http::Request;
    use std::net::SocketAddr;
    use tonic::transport::server::TcpConnectInfo;

    fn id(peer: &str, told: &[&str]) -> String {
        let mut request = Request::builder().uri("/rolegate.auth.v1.AuthService/Login");
        for id in told {
            request = request.header("x-request-id", *id);
        }
        let remote_addr: Option<SocketAddr> = Some(peer.parse().expect("an address"));
        let info = TcpConnectInfo { local_addr: None, remote_addr };
        let request = request.extension(info).body("body").expect("a request");
        let mut layer = CallLayer::new(rolegate_proto::AUTH_DESCRIPTORS);
        layer.trust("10.0.0.0/8".parse().expect("a network"));
        let call = layer.known.call(request.uri().path());
        let (context, _, request) = layer.prepare(&call, request);
        assert_eq!(request.headers().get_all("x-request-id").iter().count(), told.len());
        assert!(request.extensions().get::<TcpConnectInfo>().is_some(), "nothing is lost");
        assert_eq!(*request.body(), "body");
        context.request_id.to_str().expect("text").to_owned()
    }

    #[test]
    fn a_trusted_caller_names_the_requests_that_it_calls_for_and_nobody_else_does() {
        for told in ["a", "a,b,c"] {
            assert_eq!(id("10.0.0.1:5", &[told]), told);
            assert_ne!(id("192.0.2.1:5", &[told]), told);
        }
    }

    #[test]
    fn ids_that_are_malformed_are_replaced() {
        for told in [&["a b"][..], &["a,"], &[",a"], &["a,,b"], &[""], &["a", "b"], &[]] {
            let id = id("10.0.0.1:5", told);
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{told:?}");
        }
    }
}
