//! Finds out where a request comes from. Only a trusted proxy may set the client address, the request id and the trace
//! context.

use axum::extract::{ConnectInfo, Request};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use rolegate_auth_client::{CallContext, RequestId};
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::{cidr_set::CidrSet, request_context::RequestContext};
use rolegate_sign_in::headers::single_value;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The header of the request id. It is accepted from trusted proxies and sent with every response.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// Counts and logs client addresses that are ignored because the peer is not in `TRUSTED_PROXIES`.
pub static IGNORED_ADDRESSES: AddressHeader =
    AddressHeader::new(X_FORWARDED_FOR, "TRUSTED_PROXIES", "proxy of yours");

/// Marks a request whose peer is one of `TRUSTED_PROXIES`. It is in the extensions of the request.
#[derive(Clone, Copy)]
pub(crate) struct TrustedPeer;

pub(crate) struct RequestSource {
    pub(crate) is_trusted: bool,
    pub(crate) client_address: Option<IpAddr>,
    pub(crate) request_id: RequestId,
}

impl RequestSource {
    pub(crate) fn from_request(request: &Request, trusted: &CidrSet) -> Self {
        let peer = request
            .extensions()
            .get::<ConnectInfo<SocketAddr>>()
            .map(|info| info.0.ip());
        let headers = request.headers();
        match peer {
            Some(peer) if trusted.contains(peer) => {
                // A repeated or malformed request id counts as missing.
                let sent_id = single_value(headers, X_REQUEST_ID).and_then(|id| id.parse().ok());
                Self {
                    is_trusted: true,
                    client_address: Some(client_ip(peer, headers, trusted)),
                    request_id: sent_id.unwrap_or_else(RequestId::new_random),
                }
            }
            _ => {
                if headers.contains_key(X_FORWARDED_FOR) {
                    IGNORED_ADDRESSES.ignore(peer);
                }
                Self {
                    is_trusted: false,
                    client_address: peer.map(|peer| peer.to_canonical()),
                    request_id: RequestId::new_random(),
                }
            }
        }
    }

    /// Puts the source into the extensions of the request, for its handler, and returns it as the context of log lines.
    pub(super) fn insert_into(self, extensions: &mut Extensions) -> RequestContext {
        if self.is_trusted {
            extensions.insert(TrustedPeer);
        }
        extensions.insert(CallContext {
            client_address: self.client_address,
            request_id: Some(self.request_id),
        });
        // The conversion cannot fail, because every character of a request id is valid in a header.
        let request_id = HeaderValue::from_str(self.request_id.as_str())
            .unwrap_or(HeaderValue::from_static("-"));
        RequestContext {
            request_id,
            client_address: self.client_address,
        }
    }
}

/// Returns the client's address. Follows `X-Forwarded-For` from right to left, starting at the peer, up to the first
/// hop that is not trusted. Entries to the left of that hop may be forged.
fn client_ip(peer: IpAddr, headers: &HeaderMap, trusted: &CidrSet) -> IpAddr {
    let hops = headers
        .get_all(X_FORWARDED_FOR)
        .iter()
        .rev()
        // A value that is not ASCII becomes an invalid hop, which ends the search.
        .flat_map(|value| value.to_str().unwrap_or("?").rsplit(','))
        .map(str::trim)
        // Empty list elements are ignored (RFC 9110, section 5.6.1.2).
        .filter(|hop| !hop.is_empty());
    let mut client = peer.to_canonical();
    for hop in hops {
        if !trusted.contains(client) {
            break;
        }
        let Some(address) = parse_hop(hop) else { break };
        client = address;
    }
    client
}

/// Parses an address in one of the forms `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`,
/// `[2001:db8::1]:80`. Returns `None` for any other text.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let plain = || hop.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || {
        let inner = hop.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<Ipv6Addr>().ok().map(IpAddr::from)
    };
    plain()
        .or_else(with_port)
        .or_else(bracketed)
        .map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests;
