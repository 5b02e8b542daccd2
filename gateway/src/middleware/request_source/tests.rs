use super::{RequestSource, client_ip};
use axum::{body::Body, extract::ConnectInfo};
use http::{HeaderMap, HeaderValue, Request};
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
    RequestSource::from_request(&request, &trusted)
        .request_id
        .to_string()
}

#[test]
fn only_a_trusted_proxy_sets_the_request_id() {
    assert_eq!(id("10.0.0.1:5", &["from-the-proxy.1"]), "from-the-proxy.1");
    assert_ne!(id("192.0.2.1:5", &["from-the-client"]), "from-the-client");
}

#[test]
fn malformed_or_repeated_request_id_is_replaced() {
    let too_long = "x".repeat(65);
    for sent in [
        &["a b"][..],
        &[""],
        &["a,b"],
        &[&too_long],
        &["a", "a"],
        &[],
    ] {
        let id = id("10.0.0.1:5", sent);
        assert!(
            id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{sent:?}"
        );
    }
}

fn client_of(peer: &str, forwarded: &[&[u8]]) -> String {
    let trusted = "10.0.0.0/8,fd00::/8".parse().expect("networks");
    let mut headers = HeaderMap::new();
    for value in forwarded {
        let value = HeaderValue::from_bytes(value).expect("a header value");
        headers.append("x-forwarded-for", value);
    }
    client_ip(peer.parse().expect("an address"), &headers, &trusted).to_string()
}

#[test]
fn untrusted_peer_is_the_client() {
    assert_eq!(client_of("192.0.2.1", &[b"198.51.100.7"]), "192.0.2.1");
    assert_eq!(client_of("::ffff:192.0.2.1", &[]), "192.0.2.1");
}

#[test]
fn rightmost_untrusted_hop_behind_a_trusted_proxy_is_the_client() {
    assert_eq!(
        client_of("10.0.0.1", &[b"203.0.113.9, 198.51.100.7"]),
        "198.51.100.7"
    );
    assert_eq!(
        client_of("10.0.0.1", &[b"198.51.100.7, 10.0.0.2,fd00::3"]),
        "198.51.100.7"
    );
    assert_eq!(
        client_of("::ffff:10.0.0.1", &[b"::ffff:198.51.100.7"]),
        "198.51.100.7"
    );
}

#[test]
fn several_headers_are_one_list() {
    assert_eq!(
        client_of("10.0.0.1", &[b"198.51.100.7", b"10.0.0.2"]),
        "198.51.100.7"
    );
    assert_eq!(
        client_of("10.0.0.1", &[b"203.0.113.9", b"198.51.100.7"]),
        "198.51.100.7"
    );
}

#[test]
fn ports_and_brackets_are_not_part_of_an_address() {
    for hop in [
        "198.51.100.7:55",
        "198.51.100.7",
        " 198.51.100.7\t",
        "198.51.100.7,,",
    ] {
        assert_eq!(
            client_of("10.0.0.1", &[hop.as_bytes()]),
            "198.51.100.7",
            "{hop}"
        );
    }
    for hop in ["[2001:db8::1]:123", "[2001:db8::1]", "2001:db8::1"] {
        assert_eq!(
            client_of("10.0.0.1", &[hop.as_bytes()]),
            "2001:db8::1",
            "{hop}"
        );
    }
}

#[test]
fn invalid_hop_ends_the_search_at_the_last_valid_hop() {
    for invalid in ["unknown", "_hidden", "1.2.3", "198.51.100.7:x", "[1.2.3.4]"] {
        let forwarded = format!("198.51.100.7, {invalid}, 10.0.0.2");
        assert_eq!(
            client_of("10.0.0.1", &[forwarded.as_bytes()]),
            "10.0.0.2",
            "{invalid}"
        );
    }
    assert_eq!(
        client_of("10.0.0.1", &[b"198.51.100.7", b"\xff"]),
        "10.0.0.1"
    );
}

#[test]
fn leftmost_hop_is_the_client_if_all_hops_are_trusted() {
    assert_eq!(client_of("10.0.0.1", &[b"10.0.0.3, 10.0.0.2"]), "10.0.0.3");
    assert_eq!(client_of("10.0.0.1", &[]), "10.0.0.1");
}
