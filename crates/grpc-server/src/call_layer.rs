//! The layer around all services of a server: metrics, the trace, and the request context of log lines.
//! Request ids and traces are accepted from trusted callers only.

mod call;

use crate::caller;
use call::Call;
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

#[derive(Clone)]
pub(crate) struct CallLayer {
    trusted: Arc<CidrSet>,
}

impl CallLayer {
    /// Trusts no network.
    pub(crate) fn new() -> Self {
        call::register_metrics();
        Self { trusted: Arc::default() }
    }

    pub(crate) fn trust(&mut self, trusted: CidrSet) {
        self.trusted = Arc::new(trusted);
    }

    /// The context and the span of a call, and the request, unchanged.
    fn prepare<B>(&self, request: Request<B>) -> (RequestContext, Span, Request<B>) {
        let (mut head, body) = request.into_parts();
        let metadata = MetadataMap::from_headers(mem::take(&mut head.headers));
        let view = tonic::Request::from_parts(metadata, mem::take(&mut head.extensions), ());
        let is_trusted = caller::is_trusted(&view, &self.trusted);
        let client_address = caller::client_address(&view, &self.trusted);
        let (metadata, extensions, ()) = view.into_parts();
        head.headers = metadata.into_headers();
        head.extensions = extensions;

        let request_id = is_trusted.then(|| parse_request_ids(&head.headers)).flatten();
        let request_id = request_id.unwrap_or_else(new_request_id);
        let span = call::span(head.uri.path());
        if is_trusted {
            traces::set_remote_parent(&span, &head.headers);
        }
        let context = RequestContext { request_id, client_address };
        (context, span, Request::from_parts(head, body))
    }
}

impl<S> Layer<S> for CallLayer {
    type Service = CallService<S>;

    fn layer(&self, inner: S) -> CallService<S> {
        CallService { inner, layer: self.clone() }
    }
}

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
        let call = Call::start(request.uri().path());
        let (context, span, request) = self.layer.prepare(request);
        let response = call.measure(self.inner.call(request));
        Box::pin(context.scope(response.instrument(span)))
    }
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
    use super::CallLayer;
    use http::Request;
    use std::net::SocketAddr;
    use tonic::transport::server::TcpConnectInfo;

    fn request_id(peer: &str, sent: &[&str]) -> String {
        let mut request = Request::builder().uri("/rolegate.auth.v1.AuthService/Login");
        for id in sent {
            request = request.header("x-request-id", *id);
        }
        let remote_addr: Option<SocketAddr> = Some(peer.parse().expect("an address"));
        let info = TcpConnectInfo { local_addr: None, remote_addr };
        let request = request.extension(info).body("body").expect("a request");
        let mut layer = CallLayer::new();
        layer.trust("10.0.0.0/8".parse().expect("a network"));
        let (context, _, request) = layer.prepare(request);
        assert_eq!(request.headers().get_all("x-request-id").iter().count(), sent.len());
        assert!(request.extensions().get::<TcpConnectInfo>().is_some(), "extensions were lost");
        assert_eq!(*request.body(), "body");
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
