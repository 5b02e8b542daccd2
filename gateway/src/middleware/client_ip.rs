//! The IP address of the client behind trusted proxies.

use http::HeaderMap;
use rolegate_program::cidr_set::CidrSet;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

pub(crate) const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// Follows `X-Forwarded-For` from right to left, starting at the peer, up to the first hop that is
/// not trusted. Entries to the left of that hop may be forged.
pub(crate) fn resolve(peer: IpAddr, headers: &HeaderMap, trusted: &CidrSet) -> IpAddr {
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
        let Some(address) = parse(hop) else { break };
        client = address;
    }
    client
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn parse(hop: &str) -> Option<IpAddr> {
    let plain = || hop.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || {
        let inner = hop.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<Ipv6Addr>().ok().map(IpAddr::from)
    };
    plain().or_else(with_port).or_else(bracketed).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use http::{HeaderMap, HeaderValue};

    fn client_of(peer: &str, forwarded: &[&[u8]]) -> String {
        let trusted = "10.0.0.0/8,fd00::/8".parse().expect("networks");
        let mut headers = HeaderMap::new();
        for value in forwarded {
            let value = HeaderValue::from_bytes(value).expect("a header value");
            headers.append("x-forwarded-for", value);
        }
        resolve(peer.parse().expect("an address"), &headers, &trusted).to_string()
    }

    #[test]
    fn untrusted_peer_is_the_client() {
        assert_eq!(client_of("192.0.2.1", &[b"198.51.100.7"]), "192.0.2.1");
        assert_eq!(client_of("::ffff:192.0.2.1", &[]), "192.0.2.1");
    }

    #[test]
    fn rightmost_untrusted_hop_behind_a_trusted_proxy_is_the_client() {
        assert_eq!(client_of("10.0.0.1", &[b"203.0.113.9, 198.51.100.7"]), "198.51.100.7");
        assert_eq!(client_of("10.0.0.1", &[b"198.51.100.7, 10.0.0.2,fd00::3"]), "198.51.100.7");
        assert_eq!(client_of("::ffff:10.0.0.1", &[b"::ffff:198.51.100.7"]), "198.51.100.7");
    }

    #[test]
    fn several_headers_are_one_list() {
        assert_eq!(client_of("10.0.0.1", &[b"198.51.100.7", b"10.0.0.2"]), "198.51.100.7");
        assert_eq!(client_of("10.0.0.1", &[b"203.0.113.9", b"198.51.100.7"]), "198.51.100.7");
    }

    #[test]
    fn ports_and_brackets_are_not_part_of_an_address() {
        for hop in ["198.51.100.7:55", "198.51.100.7", " 198.51.100.7\t", "198.51.100.7,,"] {
            assert_eq!(client_of("10.0.0.1", &[hop.as_bytes()]), "198.51.100.7", "{hop}");
        }
        for hop in ["[2001:db8::1]:123", "[2001:db8::1]", "2001:db8::1"] {
            assert_eq!(client_of("10.0.0.1", &[hop.as_bytes()]), "2001:db8::1", "{hop}");
        }
    }

    #[test]
    fn invalid_hop_ends_the_search_at_the_last_valid_hop() {
        for invalid in ["unknown", "_hidden", "1.2.3", "198.51.100.7:x", "[1.2.3.4]"] {
            let forwarded = format!("198.51.100.7, {invalid}, 10.0.0.2");
            assert_eq!(client_of("10.0.0.1", &[forwarded.as_bytes()]), "10.0.0.2", "{invalid}");
        }
        assert_eq!(client_of("10.0.0.1", &[b"198.51.100.7", b"\xff"]), "10.0.0.1");
    }

    #[test]
    fn leftmost_hop_is_the_client_if_all_hops_are_trusted() {
        assert_eq!(client_of("10.0.0.1", &[b"10.0.0.3, 10.0.0.2"]), "10.0.0.3");
        assert_eq!(client_of("10.0.0.1", &[]), "10.0.0.1");
    }
}
