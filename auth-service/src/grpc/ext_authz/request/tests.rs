//! What is read of the messages of Envoy.

use super::{RequestTarget, authorization, requirement, roles, target};
use crate::accounts::Requirement;
use rolegate_proto::{
    Authorization, Role,
    envoy_auth_v3::{
        AttributeContext, HeaderMap, HeaderValue,
        attribute_context::{HttpRequest, Request},
    },
};
use secrecy::ExposeSecret as _;

fn required(roles: &str) -> Option<Requirement> {
    requirement(roles).ok()
}

#[test]
fn a_forgotten_or_misspelt_requirement_is_none() {
    assert_eq!(required("*"), Some(Requirement::AnyAuthenticated));
    let both = Requirement::Roles(vec![Role::AUTHOR, Role::ADMIN]);
    assert_eq!(required("author,admin"), Some(both));
    for invalid in [
        "",
        " ",
        "**",
        "author,*",
        "*,author",
        "Admin",
        "author, admin",
    ] {
        assert_eq!(required(invalid), None, "{invalid}");
    }
    let roles_of = |name: &str| roles(&[(name.to_owned(), "*".to_owned())].into()).is_some();
    assert!(roles_of("roles") && !roles_of("Roles"));
    // Well-formed; the service says whether there is such a role.
    assert!(required("root").is_some());
}

fn with(http: HttpRequest) -> AttributeContext {
    let request = Some(Request { http: Some(http) });
    AttributeContext {
        request,
        ..AttributeContext::default()
    }
}

fn token_of(joined: &[(&str, &str)], raw: &[(&str, &str, &[u8])]) -> Option<String> {
    let headers = joined
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    let raw = raw.iter().map(|&(key, value, raw_value)| HeaderValue {
        key: key.to_owned(),
        value: value.to_owned(),
        raw_value: raw_value.to_owned(),
    });
    let (headers, header_map) = (
        headers.collect(),
        Some(HeaderMap {
            headers: raw.collect(),
        }),
    );
    let http = HttpRequest {
        headers,
        header_map,
        ..HttpRequest::default()
    };
    match authorization(&with(http))? {
        Authorization::Bearer(token) => Some(token.expose_secret().to_owned()),
        Authorization::Basic { username, .. } => Some(username),
    }
}

#[test]
fn exactly_one_header_of_text_is_read_from_either_form() {
    assert_eq!(
        token_of(&[("authorization", "Bearer a.b")], &[]).as_deref(),
        Some("a.b")
    );
    assert_eq!(
        token_of(&[("Authorization", "basic YTpi")], &[]).as_deref(),
        Some("a")
    );
    let raw = [
        ("host", "", &b"x"[..]),
        ("authorization", "", b"Bearer a.b"),
    ];
    assert_eq!(token_of(&[], &raw).as_deref(), Some("a.b"));
    assert_eq!(
        token_of(&[], &[("authorization", "Bearer a.b", b"")]).as_deref(),
        Some("a.b")
    );
}

#[test]
fn repeated_and_binary_headers_are_refused() {
    let one = ("authorization", "", &b"Bearer a.b"[..]);
    for raw in [
        &[one, one][..],
        &[one, ("Authorization", "", b"")],
        &[("authorization", "Bearer a.b", b"Bearer a.b")],
        &[("authorization", "", b"Bearer a.b\xff")],
        &[],
    ] {
        assert_eq!(token_of(&[], raw), None, "{raw:?}");
    }
    assert_eq!(token_of(&[("authorization", "Bearer a.b")], &[one]), None);
    assert_eq!(
        token_of(&[("authorization", "Bearer a.b,Bearer a.b")], &[]),
        None
    );
    assert!(authorization(&AttributeContext::default()).is_none());
}

#[test]
fn the_route_has_no_query_and_a_bounded_length() {
    let (host, path) = (
        "h".to_owned(),
        format!("/a{}?token=hunter2", "\u{e9}".repeat(200)),
    );
    let attributes = with(HttpRequest {
        host,
        path,
        ..HttpRequest::default()
    });
    let RequestTarget { host, path, .. } = target(&attributes);
    assert!(
        host == "h" && path.starts_with("/a") && path.len() <= 200,
        "{path}"
    );
    let empty = AttributeContext::default();
    let RequestTarget { method, host, path } = target(&empty);
    assert_eq!((method, host, path), ("", "", ""));
}
