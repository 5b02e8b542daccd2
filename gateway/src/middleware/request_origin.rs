//! Where a request comes from. Only a trusted proxy may set the client address, the request id and
//! the trace context.

use super::client_ip;
use axum::extract::{ConnectInfo, Request};
use http::{HeaderMap, HeaderName, HeaderValue};
use rolegate_auth_client::{CallContext, RequestId};
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::cidr_set::CidrSet;
use std::net::{IpAddr, SocketAddr};

/// The request id: accepted from trusted proxies, sent in every response.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Client addresses that peers outside of `TRUSTED_PROXIES` report.
pub static IGNORED: AddressHeader =
    AddressHeader::new(client_ip::X_FORWARDED_FOR, "TRUSTED_PROXIES", "proxy of yours");

pub(crate) struct RequestOrigin {
    /// Whether the peer is a trusted proxy.
    pub(crate) is_trusted: bool,
    pub(crate) client_address: Option<IpAddr>,
    pub(crate) request_id: RequestId,
}

impl RequestOrigin {
    pub(crate) fn from_request(request: &Request, trusted: &CidrSet) -> Self {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        let headers = request.headers();
        let is_trusted = peer.is_some_and(|peer| trusted.contains(peer));
        if !is_trusted && headers.contains_key(client_ip::X_FORWARDED_FOR) {
            IGNORED.ignore(peer);
        }
        let request_id = is_trusted.then(|| parse_request_id(headers)).flatten();
        Self {
            is_trusted,
            client_address: peer.map(|peer| client_ip::resolve(peer, headers, trusted)),
            request_id: request_id.unwrap_or_else(RequestId::new_random),
        }
    }

    /// Metadata of the gRPC calls that serve this request.
    pub(crate) fn call_context(&self) -> CallContext {
        CallContext { client_address: self.client_address, request_id: Some(self.request_id) }
    }

    pub(crate) fn request_id_header(&self) -> HeaderValue {
        // Cannot fail: every character of a request id is valid in a header.
        HeaderValue::from_str(self.request_id.as_str()).unwrap_or(HeaderValue::from_static("-"))
    }
}

/// `None` if the header is missing, repeated or malformed.
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

    fn id(peer: &str, sent: &[&str]) -> String {
        let mut request = Request::builder();
        for id in sent {
            request = request.header("x-request-id", *id);
        }
        let mut request = request.body(Body::empty()).expect("a request");
        let peer: SocketAddr = peer.parse().expect("an address");
        request.extensions_mut().insert(ConnectInfo(peer));
        let trusted = "10.0.0.0/8".parse().expect("a network");
        RequestOrigin::from_request(&request, &trusted).request_id.to_string()
    }

    #[test]
    fn only_a_trusted_proxy_sets_the_request_id() {
        assert_eq!(id("10.0.0.1:5", &["from-the-proxy.1"]), "from-the-proxy.1");
        assert_ne!(id("192.0.2.1:5", &["from-the-client"]), "from-the-client");
    }

    #[test]
    fn malformed_or_repeated_request_id_is_replaced() {
        let too_long = "x".repeat(65);
        for sent in [&["a b"][..], &[""], &["a,b"], &[&too_long], &["a", "a"], &[]] {
            let id = id("10.0.0.1:5", sent);
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sent:?}");
        }
    }
}
