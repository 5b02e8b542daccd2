use super::super::Caller;
use crate::{connection::Peer, unfinished_messages::ConnectionQuota};
use http::Request;
use rolegate_program::cidr_set::CidrSet;
use std::net::IpAddr;

/// The client address that every call of these tests reports.
const REPORTED: &str = "192.0.2.1";

fn call_over(peer: Peer) -> Request<()> {
    let request = Request::builder().header("x-client-address", REPORTED);
    request.extension(peer).body(()).expect("a request")
}

fn call_from(address: &str) -> Request<()> {
    call_over(Peer::Tcp {
        address: ip(address),
        certificate: None,
        quota: ConnectionQuota::default(),
    })
}

fn is_trusted(call: &Request<()>, trusted: &CidrSet) -> bool {
    Caller::identify(call, trusted).is_trusted
}

fn client_address(call: &Request<()>, trusted: &CidrSet) -> Option<IpAddr> {
    Caller::identify(call, trusted).client_address
}

fn networks(text: &str) -> CidrSet {
    text.parse().expect("networks")
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn the_address_of_an_untrusted_caller_is_the_client_address() {
    let trusted = networks("10.0.0.0/8");
    assert!(is_trusted(&call_from("10.0.0.1"), &trusted));
    assert_eq!(
        client_address(&call_from("10.0.0.1"), &trusted),
        Some(ip(REPORTED))
    );
    assert!(!is_trusted(&call_from("11.0.0.1"), &trusted));
    assert_eq!(
        client_address(&call_from("11.0.0.1"), &trusted),
        Some(ip("11.0.0.1"))
    );
}

#[test]
fn without_a_valid_report_the_address_of_a_trusted_caller_is_the_client_address() {
    let trusted = networks("10.0.0.0/8");
    let mut call = call_from("10.0.0.1");
    call.headers_mut()
        .insert("x-client-address", "nonsense".parse().expect("a value"));
    assert_eq!(client_address(&call, &trusted), Some(ip("10.0.0.1")));
    call.headers_mut().clear();
    assert_eq!(client_address(&call, &trusted), Some(ip("10.0.0.1")));
}

#[test]
fn a_caller_in_this_process_is_trusted() {
    let call = call_over(Peer::InProcess);
    assert!(is_trusted(&call, &CidrSet::default()));
    assert_eq!(
        client_address(&call, &CidrSet::default()),
        Some(ip(REPORTED))
    );
}

#[test]
fn a_caller_without_an_address_is_untrusted() {
    let all = networks("0.0.0.0/0,::/0");
    assert!(!is_trusted(&Request::new(()), &all));
}

/// Returns the request id of a call from this address with these ids.
fn request_id(address: &str, sent: &[&str]) -> String {
    let mut call = call_from(address);
    for id in sent {
        let id = id.parse().expect("a header value");
        call.headers_mut().append("x-request-id", id);
    }
    let caller = Caller::identify(&call, &networks("10.0.0.0/8"));
    let context = caller.request_context(call.headers());
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
