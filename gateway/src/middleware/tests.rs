//! Tests what every response has, whatever its handler does.

use super::{ConsoleCookie, apply};
use crate::{
    memory::MemoryBudgets,
    settings::Settings,
    test_support::{bare, send},
};
use axum::{Router, routing::get};
use rolegate_proto::http::HttpReason;

#[tokio::test]
async fn a_request_without_host_gets_the_headers_of_every_response() {
    let settings = Settings::from_args(&[]).expect("good");
    let inner = Router::new().route("/", get(async || ()));
    let router = apply(
        "bearer",
        inner,
        ConsoleCookie::Ignored,
        &settings.public,
        &MemoryBudgets::new(&settings.public),
    );
    let mut request = bare("GET", "/");
    request.headers_mut().clear();
    let response = send(&router, request).await;
    response.assert_error(400, "Host header is missing, repeated or malformed.");
    response.assert_reason(HttpReason::HostInvalid.as_str());
    assert_eq!(response.header("connection"), "close");
    assert_eq!(response.header("x-content-type-options"), "nosniff");
    assert_eq!(response.header("cache-control"), "no-store");
    assert_eq!(response.header("x-request-id").len(), 32);
}

#[tokio::test]
async fn browsers_are_kept_on_https_where_they_came_by_it() {
    let settings = Settings::from_args(&[]).expect("good");
    let inner = Router::new().route("/", get(async || ()));
    let router = apply(
        "basic",
        inner,
        ConsoleCookie::Ignored,
        &settings.public,
        &MemoryBudgets::new(&settings.public),
    );
    let sent = async |path: &str, host: &str, schemes: &[&str]| {
        let mut request = bare("GET", path);
        let headers = request.headers_mut();
        headers.insert("host", host.parse().expect("a value"));
        for scheme in schemes {
            headers.append("x-forwarded-proto", scheme.parse().expect("a value"));
        }
        let response = send(&router, request).await;
        response.header("strict-transport-security").to_owned()
    };
    for (path, host, schemes) in [
        ("/", "app.example.org", &["https"][..]),
        ("/", "192.0.2.1:8443", &["https"]),
        ("/unknown", "app.example.org", &["https"]),
        ("/", "app.example.org", &["HTTPS"]),
        ("/", "app.example.org", &["https, https"]),
        ("/", "app.example.org", &["https", "https"]),
    ] {
        let header = sent(path, host, schemes).await;
        assert_eq!(header, "max-age=31536000", "{path} {host} {schemes:?}");
    }
    // A developer reaches other ports of this machine without encryption.
    for (host, schemes) in [
        ("app.example.org", &[][..]),
        ("app.example.org", &["http"]),
        ("app.example.org", &["https", "http"]),
        ("app.example.org", &["https, http"]),
        ("localhost:8443", &["https"]),
        ("app.localhost", &["https"]),
        ("[::1]", &["https"]),
    ] {
        assert_eq!(sent("/", host, schemes).await, "", "{host} {schemes:?}");
    }
}

#[tokio::test]
async fn panic_is_a_500_without_its_cause_and_the_next_request_succeeds() {
    async fn fails() {
        panic!("hunter2");
    }
    let inner = Router::new()
        .route("/", get(fails))
        .route("/ok", get(async || ()));
    for origins in ["", "*"] {
        let settings = Settings::from_args(&["--cors-allowed-origins", origins]).expect("good");
        let router = apply(
            "bearer",
            inner.clone(),
            ConsoleCookie::Ignored,
            &settings.public,
            &MemoryBudgets::new(&settings.public),
        );
        let response = send(&router, bare("GET", "/")).await;
        response.assert_error(500, "Internal server error.");
        assert_eq!(response.header("x-content-type-options"), "nosniff");
        assert_eq!(response.header("access-control-allow-origin"), origins);
        assert_eq!(send(&router, bare("GET", "/ok")).await.status, 200);
    }
}
