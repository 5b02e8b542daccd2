//! Tests of how the messages of Envoy are read.

use super::{
    AuthorizationHeader, RequestAttributes, RequestTarget, RequiredNames, parse_requirement,
};
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
    let names = RequiredNames {
        roles: Some(roles),
        groups: None,
    };
    parse_requirement(names).ok()
}

#[test]
fn a_forgotten_or_misspelt_requirement_is_none() {
    assert_eq!(required("*"), Some(Requirement::AnyAuthenticated));
    let both = Requirement::AnyOf {
        roles: vec![Role::AUTHOR, Role::ADMIN],
        groups: Vec::new(),
    };
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
    let has_roles = |name: &str| {
        let context = &AttributeContext {
            context_extensions: [(name.to_owned(), "*".to_owned())].into(),
            ..AttributeContext::default()
        };
        !RequestAttributes { context }.required_names().is_missing()
    };
    assert!(has_roles("roles") && !has_roles("Roles"));
    // The name `root` is well-formed. The service checks later whether a role with this name exists.
    assert!(required("root").is_some());
}

fn with(http: HttpRequest) -> AttributeContext {
    let request = Some(Request { http: Some(http) });
    AttributeContext {
        request,
        ..AttributeContext::default()
    }
}

fn with_headers(
    joined: &[(&str, &str)],
    raw: impl Iterator<Item = HeaderValue>,
) -> AttributeContext {
    let headers = joined
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    with(HttpRequest {
        headers: headers.collect(),
        header_map: Some(HeaderMap {
            headers: raw.collect(),
        }),
        ..HttpRequest::default()
    })
}

fn token_of(joined: &[(&str, &str)], raw: &[(&str, &str, &[u8])]) -> Option<String> {
    let raw = raw.iter().map(|&(key, value, raw_value)| HeaderValue {
        key: key.to_owned(),
        value: value.to_owned(),
        raw_value: raw_value.to_owned(),
    });
    let context = &with_headers(joined, raw);
    match (RequestAttributes { context }).authorization() {
        AuthorizationHeader::Valid(Authorization::Bearer(token)) => {
            Some(token.expose_secret().to_owned())
        }
        AuthorizationHeader::Valid(Authorization::Basic { username, .. }) => Some(username),
        AuthorizationHeader::Missing | AuthorizationHeader::Invalid => None,
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
    let context = &AttributeContext::default();
    assert!(matches!(
        RequestAttributes { context }.authorization(),
        AuthorizationHeader::Missing
    ));
}

#[test]
fn the_route_has_no_query_and_a_bounded_length() {
    let (host, path) = (
        "h".to_owned(),
        format!("/a{}?token=hunter2", "\u{e9}".repeat(200)),
    );
    let context = &with(HttpRequest {
        host,
        path,
        ..HttpRequest::default()
    });
    let RequestTarget { host, path, .. } = RequestAttributes { context }.target();
    assert!(
        host == "h" && path.starts_with("/a") && path.len() <= 200,
        "{path}"
    );
    let context = &AttributeContext::default();
    let RequestTarget { method, host, path } = RequestAttributes { context }.target();
    assert_eq!((method, host, path), ("", "", ""));
}

fn browser_headers(joined: &[(&str, &str)], raw: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    let raw = raw.iter().map(|&(key, raw_value)| HeaderValue {
        key: key.to_owned(),
        raw_value: raw_value.to_owned(),
        ..HeaderValue::default()
    });
    let context = &with_headers(joined, raw);
    let read = RequestAttributes { context }.browser_headers();
    let pair = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.to_string(), value.as_bytes().to_vec())
    };
    read.iter().map(pair).collect()
}

#[test]
fn headers_of_browsers_are_read_from_either_form_and_no_others() {
    let joined = [("cookie", "a=b; c=d"), ("x-forwarded-host", "evil.example")];
    assert_eq!(
        browser_headers(&joined, &[]),
        [("cookie".to_owned(), b"a=b; c=d".to_vec())]
    );
    let raw = [
        ("Cookie", &b"a=b"[..]),
        ("cookie", b"c=\xff"),
        ("authorization", b"Bearer a"),
    ];
    let expected = [b"a=b".to_vec(), b"c=\xff".to_vec()].map(|it| ("cookie".to_owned(), it));
    assert_eq!(browser_headers(&[], &raw), expected);
    // The header is present in both forms, so it counts as two headers.
    assert_eq!(
        browser_headers(&[("origin", "null")], &[("origin", b"null")]).len(),
        2
    );
}

#[test]
fn a_value_that_cannot_be_read_is_not_overlooked() {
    let names = ["upgrade", "sec-fetch-mode", "sec-websocket-key"];
    for (name, value) in names
        .into_iter()
        .flat_map(|name| [(name, &b"a\0"[..]), (name, b"")])
    {
        assert_eq!(
            browser_headers(&[], &[(name, value)]),
            [(name.to_owned(), Vec::new())]
        );
    }
}
