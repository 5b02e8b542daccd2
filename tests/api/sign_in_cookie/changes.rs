//! Cross-site request forgery: a request that may change something must come from a page of the
//! application.

use super::{browser::Browser, start};
use crate::audit::audit;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{TestSetup, for_one_deployment, for_two_deployments};
use reqwest::Method;

for_one_deployment!(
    a_change_needs_a_page_of_the_application,
    a_websocket_needs_a_page_of_the_application,
    the_method_that_a_proxy_does_not_say_is_a_change,
);
for_two_deployments!(a_password_that_the_browser_remembers_is_good_for_no_change_by_another_site);

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
            // These origins are a sibling host, the other scheme, and another port.
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
        // Without the cookie, another site has nothing to misuse.
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

/// A request counts as a change unless the proxy names exactly one safe method. A proxy that
/// forgets to overwrite the header passes on what a client says, and a proxy that removes it says
/// nothing.
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

/// Browsers send a remembered password with requests of any page, as they do with a cookie. Such a
/// change is refused before the password is checked, so a wrong one does not count as a guess.
async fn a_password_that_the_browser_remembers_is_good_for_no_change_by_another_site(
    setup: TestSetup,
) {
    let setup = setup.with("LOGIN_FAILURE_LIMIT", "1");
    let setup = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off");
    let (app, proxies, ann, _) = start(setup).await;
    let basic = |password: &str| {
        let credentials = STANDARD.encode(format!("{}:{password}", ann.username));
        Browser::get().with("authorization", &format!("Basic {credentials}"))
    };
    for password in ["wrong", ann.password.as_str()] {
        for method in ["POST", "PUT", "DELETE", "PROPFIND"] {
            for mode in ["navigate", "no-cors", "websocket"] {
                let change = Browser {
                    method,
                    ..basic(password)
                };
                let change = change.with("sec-fetch-site", "cross-site");
                let refused = proxies.ask(&change.with("sec-fetch-mode", mode)).await;
                refused.expect_refused(403, "CROSS_SITE");
            }
        }
        let socket = basic(password)
            .with("upgrade", "websocket")
            .with("sec-fetch-site", "cross-site")
            .with("sec-fetch-mode", "websocket");
        proxies.ask(&socket).await.expect_refused(403, "CROSS_SITE");
    }
    for (process, route) in [
        (app.gateway(), "/authorize"),
        (app.auth(), "app.example.org/reports"),
    ] {
        let lines = audit(process, "access_denied", 1).await;
        let line = lines.iter().find(|line| line["route"] == route);
        let line = line.unwrap_or_else(|| panic!("no line of {route}: {lines:?}"));
        assert_eq!(line["reason"], "CROSS_SITE");
        assert_eq!(line.get("actor"), None, "nobody was looked up: {line}");
    }
    for (method, headers) in [
        (
            "GET",
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
            ][..],
        ),
        (
            "HEAD",
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
        ),
        (
            "POST",
            &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")],
        ),
        (
            "POST",
            &[
                ("sec-fetch-site", "same-origin"),
                ("sec-fetch-mode", "navigate"),
            ],
        ),
        (
            "POST",
            &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")],
        ),
        ("POST", &[]),
    ] {
        let mut browser = Browser {
            method,
            ..basic(&ann.password)
        };
        for (name, value) in headers {
            browser = browser.with(name, value);
        }
        proxies.ask(&browser).await.expect_passed("user");
    }
}
