//! Refuses requests whose `Host` header is missing, repeated or malformed (RFC 9112, section 3.2).

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode, Version,
    header::{CONNECTION, CONTENT_TYPE, HOST},
};
use std::net::Ipv6Addr;

/// Returns `true` if the `Host` of a request is valid: exactly one, or none with HTTP/1.0.
///
/// If a request had two, a proxy in front of this server could choose another one than the server does, and would then
/// route the request or cache the response for the wrong host.
fn is_valid(version: Version, headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(HOST).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => is_host(value),
        (None, _) => version == Version::HTTP_10,
        (Some(_), Some(_)) => false,
    }
}

/// Returns `true` if the value is `uri-host [ ":" port ]` (RFC 9110, section 7.2). The host may be empty.
fn is_host(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    let rest = match text.strip_prefix('[') {
        Some(text) => match text.split_once(']') {
            Some((address, rest)) if address.parse::<Ipv6Addr>().is_ok() => rest,
            _ => return false,
        },
        None => text.trim_start_matches(is_name_character),
    };
    match rest.strip_prefix(':') {
        Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()),
        None => rest.is_empty(),
    }
}

/// Returns `true` for a character that a `reg-name` may have (RFC 3986, section 3.2.2).
fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-._~!$&'()*+,;=%".contains(character)
}

/// Middleware that answers requests with a [`refusal`] if their `Host` is invalid, for routers that are passed to
/// [`serve`](crate::http_server::serve).
pub(crate) async fn require(request: Request, next: Next) -> Response {
    match refusal(&request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    }
}

/// Returns a 400 if the `Host` of a request is invalid, and `None` otherwise. A refused connection closes, because the
/// body of the request is not read.
pub fn refusal<B>(request: &http::Request<B>) -> Option<Response> {
    const BODY: &str = r#"{"detail":"Host header is missing, repeated or malformed."}"#;
    if is_valid(request.version(), request.headers()) {
        return None;
    }
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CONNECTION, "close"),
        // Every error of the gateway has this header. A test in the gateway compares this response with its other
        // errors.
        (HeaderName::from_static("rolegate-reason"), "HOST_INVALID"),
    ];
    Some((StatusCode::BAD_REQUEST, headers, BODY).into_response())
}

#[cfg(test)]
mod tests {
    use super::is_valid;
    use http::{HeaderMap, HeaderValue, Version, header::HOST};

    fn accepts(version: Version, hosts: &[&[u8]]) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_bytes(host).expect("a header value"));
        }
        is_valid(version, &headers)
    }

    #[test]
    fn exactly_one_valid_host_is_accepted() {
        for host in [
            "example.com",
            "example.com:8000",
            "localhost:",
            "127.0.0.1:80",
            "[::1]",
            "[::1]:80",
            "a_b-c.test",
            "%C3%A9",
            "",
        ] {
            assert!(accepts(Version::HTTP_11, &[host.as_bytes()]), "{host}");
        }
        for host in [
            "a b",
            "a/b",
            "user@host",
            "a:b",
            "a:1:2",
            "::1",
            "[::1",
            "[::1]x",
            "[::g]",
            "a,b c",
            "http://a",
            "a?b",
            "a#b",
            "a\\b",
            "<a>",
        ] {
            assert!(!accepts(Version::HTTP_11, &[host.as_bytes()]), "{host}");
        }
        assert!(!accepts(Version::HTTP_11, &[b"caf\xe9"]));
    }

    #[test]
    fn a_missing_host_is_allowed_in_http_1_0_only_and_a_repeated_one_never() {
        assert!(!accepts(Version::HTTP_11, &[]));
        assert!(accepts(Version::HTTP_10, &[]));
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert!(!accepts(version, &[b"a", b"a"]));
        }
    }
}
