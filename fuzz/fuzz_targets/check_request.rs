//! Fuzzes the requests of Envoy (`ext_authz`). auth-service must read each of them as the gateway reads the
//! request of a proxy over HTTP: with the same credentials, the same session and the same redirect to the
//! sign-in page. The log must contain no query, and no more than 200 bytes of a method, host or path.
//!
//! The input is `b` and a `CheckRequest` in protobuf, or `t` and lines from which one is made.

#![no_main]

use http::HeaderMap;
use libfuzzer_sys::fuzz_target;
use prost::Message as _;
use rolegate_auth_service::fuzzing::read_envoy_request;
use rolegate_fuzz::envoy::{as_http, of_lines};
use rolegate_gateway::fuzzing::authorization;
use rolegate_proto::{
    Authorization,
    envoy_auth_v3::{CheckRequest, attribute_context::HttpRequest},
};
use rolegate_sign_in::{
    request::BrowserRequest,
    sign_in::{RedirectReason, SignIn},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::LazyLock;

static SIGN_IN: LazyLock<[SignIn; 2]> = LazyLock::new(|| {
    let sign_in = |url: &str, domain: Option<&str>, origins: &str| {
        let origins = origins.parse().expect("origins");
        SignIn::new(url.to_owned(), domain.map(str::to_owned), origins)
    };
    [
        sign_in("/sign-in", None, ""),
        sign_in(
            "https://auth.example.org/sign-in",
            Some("example.org"),
            "https://*.example.org",
        ),
    ]
});

fuzz_target!(|data: &[u8]| {
    let request = match data.split_first() {
        Some((b'b', bytes)) => CheckRequest::decode(bytes).ok(),
        Some((_, lines)) => Some(of_lines(lines)),
        None => None,
    };
    let Some(request) = request else { return };
    // A decoded request must stay the same when it is encoded and decoded again.
    assert_eq!(
        CheckRequest::decode(&request.encode_to_vec()[..]).as_ref(),
        Ok(&request)
    );
    let Some(attributes) = request.attributes else {
        return;
    };
    let read_by_envoy = read_envoy_request(&attributes);
    let source = attributes
        .source
        .as_ref()
        .and_then(|it| it.address.as_ref());
    let text = source
        .and_then(|it| it.socket_address.as_ref())
        .map(|it| it.address.as_str());
    if let Some(address) = read_by_envoy.client {
        let text = text.expect("an address");
        assert!(
            text.parse()
                .is_ok_and(|it: std::net::IpAddr| it.to_canonical() == address)
        );
    }
    for part in read_by_envoy.route {
        assert!(part.len() <= 200);
    }
    assert!(!read_by_envoy.route[2].contains(['?', '#']));
    let http = attributes.request.as_ref().and_then(|it| it.http.as_ref());
    let Some(http) = http else {
        assert!(read_by_envoy.authorization.is_none() && read_by_envoy.headers.is_empty());
        return;
    };
    if let Some(headers) = as_http(http) {
        assert_eq!(
            read(read_by_envoy.authorization),
            read(authorization(&headers))
        );
        compare(http, &read_by_envoy.headers, &headers);
    }
});

fn read(credentials: Option<Authorization>) -> Option<(String, String)> {
    Some(match credentials? {
        Authorization::Bearer(token) => (String::new(), token.expose_secret().to_owned()),
        Authorization::Basic { username, password } => {
            (username, password.expose_secret().to_owned())
        }
    })
}

fn compare(http: &HttpRequest, browser: &HeaderMap, headers: &HeaderMap) {
    let envoy = BrowserRequest {
        method: Some(&http.method),
        scheme: Some(&http.scheme),
        host: Some(&http.host),
        path: Some(&http.path),
        headers: browser,
    };
    let proxy = BrowserRequest::forwarded(headers);
    assert_eq!(envoy.is_cross_site_change(), proxy.is_cross_site_change());
    for sign_in in SIGN_IN.iter() {
        let exposed = |sessions: Vec<SecretString>| -> Vec<String> {
            sessions
                .iter()
                .map(|it| it.expose_secret().to_owned())
                .collect()
        };
        let [one, other] = [envoy, proxy].map(|it| sign_in.session_candidates(it).map(exposed));
        assert_eq!(one, other);
        for reason in [
            RedirectReason::NotAuthenticated,
            RedirectReason::TwoSessions,
        ] {
            let [one, other] = [envoy, proxy].map(|it| sign_in.redirect(it, reason));
            assert_eq!(one, other);
        }
        for has_authorization in [false, true] {
            let [one, other] =
                [envoy, proxy].map(|it| sign_in.allows_basic_challenge(it, has_authorization));
            assert_eq!(one, other);
        }
        // A change must not be authenticated by a session unless a header tells which site has sent it.
        let is_change = !["GET", "HEAD"].contains(&http.method.as_str());
        if is_change && !headers.contains_key("origin") && !headers.contains_key("sec-fetch-site") {
            assert!(
                !one.is_ok_and(|sessions| !sessions.is_empty()),
                "a session changes something for another site"
            );
        }
    }
}
