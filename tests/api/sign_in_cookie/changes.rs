//! Cross-site request forgery: what may change something needs a page of the application.

use super::{browser::Browser, start};
use e2e::{TestSetup, for_one_deployment};
use reqwest::Method;

for_one_deployment!(
    a_change_needs_a_page_of_the_application,
    a_websocket_needs_a_page_of_the_application,
    the_method_that_a_proxy_does_not_say_is_a_change,
);

async fn a_change_needs_a_page_of_the_application(setup: TestSetup) {
    let setup = setup.with(
        "RETURN_ORIGINS",
        "https://other.example.org,https://*.apps.example",
    );
    let (_app, proxies, _, session) = start(setup).await;
    let unsafe_methods = [
        "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "Head",
    ];
    for method in unsafe_methods {
        let browser = Browser {
            method,
            ..Browser::navigation().cookie(&session)
        };
        for (name, value) in [
            ("accept", "*/*"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "none"),
            ("origin", "null"),
            ("origin", "https://evil.example"),
            // A sibling, the other scheme, another port.
            ("origin", "https://sibling.example.org"),
            ("origin", "http://app.example.org"),
            ("origin", "https://app.example.org:8443"),
            ("origin", "https://apps.example"),
            ("referer", "https://app.example.org/"),
        ] {
            let refused = proxies.ask(&browser.clone().with(name, value)).await;
            refused.expect_refused(403, "CROSS_SITE");
        }
        let forged = browser.clone().with("sec-fetch-site", "cross-site");
        let forged = forged.with("sec-fetch-site", "same-origin");
        proxies.ask(&forged).await.expect_refused(403, "CROSS_SITE");
        for (name, value) in [
            ("sec-fetch-site", "same-origin"),
            ("origin", "https://app.example.org"),
            ("origin", "https://other.example.org"),
            ("origin", "https://a.b.apps.example"),
        ] {
            proxies
                .ask(&browser.clone().with(name, value))
                .await
                .expect_passed("user");
        }
        // Without the cookie there is nothing to misuse.
        let anonymous = Browser {
            method,
            ..Browser::get()
        };
        proxies
            .ask(&anonymous)
            .await
            .expect_refused(401, "NOT_AUTHENTICATED");
    }
    for method in ["GET", "HEAD"] {
        let link = Browser {
            method,
            ..Browser::navigation().cookie(&session)
        };
        proxies
            .ask(&link.with("sec-fetch-site", "cross-site"))
            .await
            .expect_passed("user");
    }
}

async fn a_websocket_needs_a_page_of_the_application(setup: TestSetup) {
    let (_app, proxies, _, session) = start(setup).await;
    for (name, value) in [
        ("upgrade", "websocket"),
        ("upgrade", "WebSocket"),
        ("upgrade", ""),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-version", "13"),
        ("sec-fetch-mode", "websocket"),
    ] {
        let socket = Browser::get().cookie(&session).with(name, value);
        proxies.ask(&socket).await.expect_refused(403, "CROSS_SITE");
        let evil = socket.clone().with("origin", "https://evil.example");
        proxies.ask(&evil).await.expect_refused(403, "CROSS_SITE");
        let own = socket.with("origin", "https://app.example.org");
        proxies.ask(&own).await.expect_passed("user");
    }
}

/// A proxy that forgets to overwrite it passes on what a client says; one that removes it says nothing.
async fn the_method_that_a_proxy_does_not_say_is_a_change(setup: TestSetup) {
    let (_app, proxies, _, session) = start(setup).await;
    let ask = async |methods: &[&str], site: &str| {
        let mut request = proxies.forward.request(Method::GET, "/authorize");
        for method in methods {
            request = request.header("x-forwarded-method", *method);
        }
        let request = request
            .header("x-forwarded-proto", "https")
            .header("sec-fetch-site", site);
        proxies
            .forward
            .send(request.header("cookie", format!("__Host-rolegate={session}")))
            .await
    };
    for methods in [
        &[][..],
        &["GET", "POST"],
        &["GET", "GET"],
        &["GET, POST"],
        &["POST"],
        &[""],
    ] {
        ask(methods, "cross-site")
            .await
            .expect_detail(403, "Cross-site request.");
        ask(methods, "same-origin").await.expect(200);
    }
    ask(&["GET"], "cross-site").await.expect(200);
}
