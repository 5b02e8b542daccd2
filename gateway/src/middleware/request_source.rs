//! Finds out where a request comes from. Only a trusted proxy may set the client address, the request id and the trace
//! context.

use axum::extract::{ConnectInfo, Request};
use http::{HeaderMap, HeaderName};
use rolegate_auth_client::RequestId;
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::cidr_set::CidrSet;
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
        let is_trusted = peer.is_some_and(|peer| trusted.contains(peer));
        if !is_trusted && headers.contains_key(X_FORWARDED_FOR) {
            IGNORED_ADDRESSES.ignore(peer);
        }
        // A repeated or malformed request id counts as missing.
        let request_id = match single_value(headers, X_REQUEST_ID) {
            Some(id) if is_trusted => id.parse().ok(),
            _ => None,
        };
        Self {
            is_trusted,
            client_address: peer.map(|peer| client_ip(peer, headers, trusted)),
            request_id: request_id.unwrap_or_else(RequestId::new_random),
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
