//! Who makes a request, as far as its head can be believed: word of the client's address, of the
//! request's id and of a trace is taken from trusted proxies only.

use super::client_ip;
use axum::extract::{ConnectInfo, Request};
use http::{HeaderMap, HeaderName, HeaderValue};
use rolegate_auth_client::{CallContext, RequestId};
use rolegate_service_runtime::cidr_set::CidrSet;
use std::net::{IpAddr, SocketAddr};

/// The id of a request, in requests of trusted proxies and in every answer.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What is believed of a request's origin.
pub(crate) struct RequestOrigin {
    /// Whether the peer is a proxy whose word counts.
    pub(crate) is_trusted: bool,
    pub(crate) client_address: Option<IpAddr>,
    pub(crate) request_id: RequestId,
}

impl RequestOrigin {
    pub(crate) fn of(request: &Request, trusted: &CidrSet) -> Self {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        let headers = request.headers();
        let is_trusted = peer.is_some_and(|peer| trusted.contains(peer));
        let word = is_trusted.then(|| parse_request_id(headers)).flatten();
        Self {
            is_trusted,
            client_address: peer.map(|peer| client_ip::resolve(peer, headers, trusted)),
            request_id: word.unwrap_or_else(RequestId::new_random),
        }
    }

    /// For every call that is made for this request.
    pub(crate) fn call_context(&self) -> CallContext {
        CallContext { client_address: self.client_address, request_id: Some(self.request_id) }
    }

    pub(crate) fn request_id_header(&self) -> HeaderValue {
        // The characters of an id are a header's; there is no other case.
        HeaderValue::from_str(self.request_id.as_str()).unwrap_or(HeaderValue::from_static("-"))
    }
}

/// The id that a proxy gave the request; one, of the form that logs can hold.
fn parse_request_id(headers: &HeaderMap) -> Option<RequestId> {
    let mut values = headers.get_all(X_REQUEST_ID).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::RequestOrigin;
    use axum::{body::Body, extract::ConnectInfo};
    use http::Request;
    use std::net::SocketAddr;

    fn id(peer: &str, told: &[&str]) -> String {
        let mut request = Request::builder();
        for id in told {
            request = request.header("x-request-id", *id);
        }
        let mut request = request.body(Body::empty()).expect("a request");
        let peer: SocketAddr = peer.parse().expect("an address");
        request.extensions_mut().insert(ConnectInfo(peer));
        let trusted = "10.0.0.0/8".parse().expect("a network");
        RequestOrigin::of(&request, &trusted).request_id.to_string()
    }

    #[test]
    fn a_trusted_proxy_may_name_the_request_and_nobody_else() {
        assert_eq!(id("10.0.0.1:5", &["from-the-proxy.1"]), "from-the-proxy.1");
        assert_ne!(id("192.0.2.1:5", &["from-a-stranger"]), "from-a-stranger");
    }

    #[test]
    fn a_name_that_is_malformed_or_given_twice_is_replaced() {
        let too_long = "x".repeat(65);
        for told in [&["a b"][..], &[""], &["a,b"], &[&too_long], &["a", "a"], &[]] {
            let id = id("10.0.0.1:5", told);
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{told:?}");
        }
    }
}
