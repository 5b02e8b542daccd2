//! Sends requests to a router and collects the responses.
//!
//! Requests contain the names of credentials, such as `Bearer admin`. They are replaced by the tokens that auth-service
//! issued, wherever a whole token or the value of a cookie has such a name.

use auth_fixture::credential;
use axum::{Router, body::Body};
use http::{
    HeaderMap, HeaderValue, Request, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST},
    request::Builder,
};
use http_body_util::BodyExt;
use rolegate_proto::http::REASON_HEADER;
use serde_json::Value;
use tower::ServiceExt;

/// A response, whose empty body is null.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl TestResponse {
    /// Returns the value of a header, or an empty text if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("visible ASCII"))
    }

    /// Asserts 200 with exactly this body.
    #[track_caller]
    pub(crate) fn assert_ok(&self, body: &Value) {
        assert_eq!((self.status.as_u16(), &self.body), (200, body));
    }

    /// Asserts the reason of an error.
    #[track_caller]
    pub(crate) fn assert_reason(&self, reason: &str) {
        assert_eq!(self.header(REASON_HEADER), reason, "{self:?}");
    }

    /// Asserts an error with exactly this status and detail.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, detail: &str) {
        let body = serde_json::json!({ "detail": detail });
        assert_eq!((self.status.as_u16(), &self.body), (status, &body));
    }
}

/// A response whose body need not be JSON.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl File {
    /// Returns the value of a header, or an empty text if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("visible ASCII"))
    }
}

/// Replaces the names of credentials by their tokens.
fn with_tokens(mut request: Request<Body>) -> Request<Body> {
    for (name, value) in request.headers_mut() {
        let delimiters = match *name {
            AUTHORIZATION => [' '; 2],
            COOKIE => [';', '='],
            _ => continue,
        };
        let Ok(text) = value.to_str() else { continue };
        let parts = text.split_inclusive(delimiters).map(|part| {
            let end = part.ends_with(delimiters);
            let name = if end { &part[..part.len() - 1] } else { part };
            let token = credential(name).unwrap_or(name);
            format!("{token}{}", &part[name.len()..])
        });
        *value = HeaderValue::from_str(&parts.collect::<String>()).expect("a header value");
    }
    request
}

/// Sends a request to a router and collects the response, whatever its type.
pub(crate) async fn fetch(router: &Router, request: Request<Body>) -> File {
    let response = router
        .clone()
        .oneshot(with_tokens(request))
        .await
        .expect("routers cannot fail");
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.expect("a body in memory").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    File {
        status: head.status.as_u16(),
        headers: head.headers,
        text,
    }
}

/// Sends a request to a router and collects the response.
pub(crate) async fn send(router: &Router, request: Request<Body>) -> TestResponse {
    let response = router
        .clone()
        .oneshot(with_tokens(request))
        .await
        .expect("routers cannot fail");
    let (head, body) = response.into_parts();
    let has_reason = head.headers.contains_key(REASON_HEADER);
    assert_eq!(has_reason, head.status.as_u16() >= 400, "{head:?}");
    let bytes = body.collect().await.expect("a body in memory").to_bytes();
    let body = if bytes.is_empty() {
        Value::Null
    } else {
        assert_eq!(head.headers[CONTENT_TYPE], "application/json", "{bytes:?}");
        serde_json::from_slice(&bytes).expect("a JSON body")
    };
    TestResponse {
        status: head.status,
        headers: head.headers,
        body,
    }
}

/// Returns a request without a body.
pub(crate) fn bare(method: &str, path: &str) -> Request<Body> {
    head(method, path).body(Body::empty()).expect("a request")
}

/// Returns a request without a body and with this `Authorization`.
pub(crate) fn authorized(method: &str, path: &str, authorization: &str) -> Request<Body> {
    let head = head(method, path).header("authorization", authorization);
    head.body(Body::empty()).expect("a request")
}

/// Returns a request with a JSON body.
pub(crate) fn json(method: &str, path: &str, body: &str) -> Request<Body> {
    let head = head(method, path).header(CONTENT_TYPE, "application/json");
    head.body(Body::from(body.to_owned())).expect("a request")
}

fn head(method: &str, path: &str) -> Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, "a")
}
