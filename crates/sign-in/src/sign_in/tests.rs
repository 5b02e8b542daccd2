//! Tests decisions about requests of browsers by tables that hold for the gateway and auth-service alike.

use super::{RedirectReason, SignIn};
use crate::{
    cookie::{CookieError, MAX_CANDIDATES},
    page_query::MAX_RETURN_ADDRESS_LEN,
    request::BrowserRequest,
    test_support::{COOKIE, OWN, PAGE, headers, request},
};
use http::HeaderMap;
use secrecy::ExposeSecret;

const OTHER: (&str, &str) = ("cookie", "__Host-rolegate=rgs_B");

fn sign_in(url: &str, domain: Option<&str>) -> SignIn {
    let others = "https://other.example.org".parse().expect("valid");
    SignIn::new(url.to_owned(), domain.map(str::to_owned), others)
}

fn credential(sign_in: &SignIn, request: BrowserRequest<'_>) -> String {
    match sign_in.session_candidates(request) {
        Err(error) => format!("{error:?}"),
        Ok(sessions) if sessions.is_empty() => "nothing".to_owned(),
        Ok(sessions) => {
            let exposed: Vec<_> = sessions.iter().map(ExposeSecret::expose_secret).collect();
            exposed.join(" ")
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn cookie_is_good_for_reading_and_for_changes_by_pages_of_the_application() {
    let sign_in = sign_in("/sign-in", None);
    let get = Some("GET");
    let post = Some("POST");
    for (method, list, expected) in [
        (get, &[][..], "nothing"),
        (post, &[], "nothing"),
        (get, &[COOKIE], "rgs_A"),
        (Some("HEAD"), &[COOKIE], "rgs_A"),
        // Another site may cause a read, such as by a link in a mail.
        (get, &[COOKIE, ("sec-fetch-site", "cross-site")], "rgs_A"),
        // The same session twice counts once.
        (get, &[COOKIE, COOKIE], "rgs_A"),
        (post, &[COOKIE, COOKIE, PAGE], "rgs_A"),
        (get, &[COOKIE, OTHER], "rgs_A rgs_B"),
        (
            get,
            &[
                OTHER,
                ("cookie", "__Host-rolegate=; __Host-rolegate"),
                COOKIE,
            ],
            "rgs_B rgs_A",
        ),
        (post, &[COOKIE, OTHER, PAGE], "rgs_A rgs_B"),
        (post, &[COOKIE, OTHER], "CrossSite"),
        (get, &[("cookie", "__Host-rolegate=rgk_A")], "nothing"),
        (post, &[("cookie", "__Host-rolegate=rgk_A")], "nothing"),
        (get, &[("cookie", "__Secure-rolegate=rgd_A")], "nothing"),
        (get, &[("cookie", "rolegate=rgs_A")], "nothing"),
        // Changes need a page of an allowed origin.
        (post, &[COOKIE], "CrossSite"),
        (post, &[COOKIE, PAGE], "rgs_A"),
        (post, &[COOKIE, OWN], "rgs_A"),
        (
            post,
            &[COOKIE, ("origin", "https://other.example.org")],
            "rgs_A",
        ),
        (
            post,
            &[
                COOKIE,
                ("sec-fetch-site", "same-site"),
                ("origin", "https://other.example.org"),
            ],
            "rgs_A",
        ),
        (
            post,
            &[COOKIE, ("sec-fetch-site", "same-site")],
            "CrossSite",
        ),
        (
            post,
            &[COOKIE, ("sec-fetch-site", "cross-site")],
            "CrossSite",
        ),
        (post, &[COOKIE, ("sec-fetch-site", "none")], "CrossSite"),
        (
            post,
            &[COOKIE, ("sec-fetch-site", "Same-Origin")],
            "CrossSite",
        ),
        (
            post,
            &[COOKIE, PAGE, ("sec-fetch-site", "cross-site")],
            "CrossSite",
        ),
        (post, &[COOKIE, ("origin", "null")], "CrossSite"),
        (
            post,
            &[COOKIE, ("origin", "https://evil.example")],
            "CrossSite",
        ),
        (
            post,
            &[COOKIE, ("origin", "http://app.example.org")],
            "CrossSite",
        ),
        (
            post,
            &[COOKIE, ("origin", "https://app.example.org:8443")],
            "CrossSite",
        ),
        (
            post,
            &[COOKIE, ("origin", "https://app.example.org.evil.example")],
            "CrossSite",
        ),
        (
            post,
            &[COOKIE, OWN, ("origin", "https://evil.example")],
            "CrossSite",
        ),
        (
            post,
            &[COOKIE, ("referer", "https://app.example.org/")],
            "CrossSite",
        ),
        (Some("PUT"), &[COOKIE], "CrossSite"),
        (Some("PATCH"), &[COOKIE], "CrossSite"),
        (Some("DELETE"), &[COOKIE], "CrossSite"),
        (Some("OPTIONS"), &[COOKIE], "CrossSite"),
        (Some("TRACE"), &[COOKIE], "CrossSite"),
        (Some("CONNECT"), &[COOKIE], "CrossSite"),
        (Some("get"), &[COOKIE], "CrossSite"),
        (Some(""), &[COOKIE], "CrossSite"),
        // Without a method from the proxy, the request may be a change.
        (None, &[COOKIE], "CrossSite"),
        (None, &[COOKIE, PAGE], "rgs_A"),
        // A WebSocket may change something.
        (get, &[COOKIE, ("upgrade", "websocket")], "CrossSite"),
        (get, &[COOKIE, ("sec-websocket-key", "x")], "CrossSite"),
        (get, &[COOKIE, ("sec-websocket-version", "13")], "CrossSite"),
        (get, &[COOKIE, ("sec-fetch-mode", "websocket")], "CrossSite"),
        (
            get,
            &[
                COOKIE,
                ("upgrade", "websocket"),
                ("origin", "https://evil.example"),
            ],
            "CrossSite",
        ),
        (get, &[COOKIE, ("upgrade", "websocket"), OWN], "rgs_A"),
        (get, &[COOKIE, ("upgrade", "websocket"), PAGE], "rgs_A"),
    ] {
        let headers = headers(list);
        let found = credential(&sign_in, request(method, &headers));
        assert_eq!(found, expected, "{method:?} {list:?}");
    }
}

#[test]
fn cookie_of_a_domain_holds_another_kind_of_session() {
    let sign_in = sign_in("https://auth.example.org/sign-in", Some("example.org"));
    for (cookie, expected) in [
        ("__Secure-rolegate=rgd_A", "rgd_A"),
        ("__Secure-rolegate=rgs_A", "nothing"),
        ("__Host-rolegate=rgs_A", "nothing"),
        ("rolegate=rgs_A", "nothing"),
    ] {
        let headers = headers(&[("cookie", cookie)]);
        assert_eq!(
            credential(&sign_in, request(Some("GET"), &headers)),
            expected,
            "{cookie}"
        );
    }
}

#[test]
fn cookie_without_a_prefix_counts_over_plain_http_on_loopback_only() {
    let sign_in = sign_in("/sign-in", None);
    let headers = headers(&[("cookie", "rolegate=rgs_A")]);
    for (scheme, host, expected) in [
        (Some("http"), Some("127.0.0.1:8088"), "rgs_A"),
        (Some("http"), Some("localhost"), "rgs_A"),
        (Some("https"), Some("localhost"), "nothing"),
        (Some("http"), Some("app.example.org"), "nothing"),
        (None, Some("localhost"), "nothing"),
        (Some("http"), None, "nothing"),
    ] {
        let request = BrowserRequest {
            scheme,
            host,
            ..request(Some("GET"), &headers)
        };
        assert_eq!(
            credential(&sign_in, request),
            expected,
            "{scheme:?} {host:?}"
        );
    }
}

#[test]
fn only_navigations_are_led_to_the_page() {
    let sign_in = sign_in("/sign-in", None);
    let there = Some("/sign-in?return=%2Fa%3Fb%3Dc%26d");
    for (list, expected) in [
        (&[("sec-fetch-mode", "navigate")][..], there),
        (&[("accept", "text/html,application/xhtml+xml")], there),
        (&[("sec-fetch-mode", ""), ("accept", "text/html")], there),
        (&[("sec-fetch-mode", "cors"), ("accept", "text/html")], None),
        (
            &[("sec-fetch-mode", "navigate"), ("sec-fetch-mode", "cors")],
            None,
        ),
        (&[("accept", "*/*")], None),
        (&[("accept", "application/json")], None),
        (&[], None),
    ] {
        let headers = headers(list);
        assert_eq!(
            sign_in
                .redirect(
                    request(Some("GET"), &headers),
                    RedirectReason::NotAuthenticated
                )
                .as_deref(),
            expected,
            "{list:?}"
        );
    }
}

#[test]
fn nobody_is_led_to_the_page_by_a_proxy_that_does_not_say_the_method() {
    let headers = headers(&[("sec-fetch-mode", "navigate"), ("accept", "text/html")]);
    assert_eq!(
        sign_in("/sign-in", None)
            .redirect(request(None, &headers), RedirectReason::NotAuthenticated),
        None
    );
}

#[test]
fn return_address_is_a_path_or_for_another_host_a_whole_url() {
    let headers = headers(&[("sec-fetch-mode", "navigate")]);
    let request = request(Some("GET"), &headers);
    let at = |path| BrowserRequest {
        path: Some(path),
        ..request
    };
    let own = sign_in("/sign-in", None);
    let long = format!("/{}", "a".repeat(3000));
    for (path, expected) in [
        ("/", Some("/sign-in?return=%2F")),
        (
            "//evil.example/",
            Some("/sign-in?return=%2F%2Fevil.example%2F"),
        ),
        ("/\u{e4}", Some("/sign-in?return=%2F%C3%A4")),
        ("https://evil.example/", Some("/sign-in?return=%2F")),
        (long.as_str(), Some("/sign-in?return=%2F&too_long")),
        ("/sign-in", None),
        ("/sign-in?return=%2F", None),
    ] {
        assert_eq!(
            own.redirect(at(path), RedirectReason::NotAuthenticated)
                .as_deref(),
            expected,
            "{path}"
        );
    }
    let other = sign_in("https://auth.example.org/sign-in", Some("example.org"));
    let page = "https://auth.example.org/sign-in";
    let whole = format!("{page}?return=https%3A%2F%2Fapp.example.org%2Fa%3Fb%3Dc%26d");
    assert_eq!(
        other.redirect(request, RedirectReason::NotAuthenticated),
        Some(whole)
    );
    assert!(
        other
            .redirect(at("/sign-in"), RedirectReason::NotAuthenticated)
            .is_some(),
        "a page of the application"
    );
    let unknown = BrowserRequest {
        host: None,
        ..request
    };
    assert_eq!(
        other
            .redirect(unknown, RedirectReason::NotAuthenticated)
            .as_deref(),
        Some(page)
    );
    let itself = BrowserRequest {
        host: Some("auth.example.org"),
        ..at("/sign-in")
    };
    assert_eq!(
        other.redirect(itself, RedirectReason::NotAuthenticated),
        None
    );
}

#[test]
fn no_more_sessions_are_looked_at_than_browsers_have() {
    let sign_in = sign_in("/sign-in", None);
    for (count, is_read) in [
        (1, true),
        (MAX_CANDIDATES, true),
        (MAX_CANDIDATES + 1, false),
        (200, false),
    ] {
        let cookies: Vec<_> = (0..count)
            .map(|number| {
                format!("__Host-rolegate=rgs_{number}; a=b; __Host-rolegate=rgs_{number}")
            })
            .collect();
        let headers = headers(&[("cookie", &cookies.join("; ")), PAGE]);
        for method in [Some("GET"), Some("POST"), None] {
            let found = sign_in.session_candidates(request(method, &headers));
            let expected = if is_read {
                Ok(count)
            } else {
                Err(CookieError::TooMany)
            };
            assert_eq!(found.map(|sessions| sessions.len()), expected, "{count}");
        }
    }
}

#[test]
fn address_that_is_too_long_to_return_to_is_told_from_one_that_just_fits() {
    let headers = headers(&[("sec-fetch-mode", "navigate")]);
    for (sign_in, origin) in [
        (sign_in("/sign-in", None), ""),
        (
            sign_in("https://auth.example.org/sign-in", None),
            "https%3A%2F%2Fapp.example.org",
        ),
    ] {
        // The encoded address has "%2F" in place of the slash.
        let fits = "a".repeat(MAX_RETURN_ADDRESS_LEN - origin.len() - 3);
        for (rest, is_too_long) in [(fits.clone(), false), (fits + "a", true)] {
            let path = format!("/{rest}");
            let request = BrowserRequest {
                path: Some(&path),
                ..request(Some("GET"), &headers)
            };
            let page = sign_in
                .redirect(request, RedirectReason::NotAuthenticated)
                .expect("led");
            assert_eq!(page.ends_with("%2F&too_long"), is_too_long, "{page}");
            assert_eq!(page.ends_with("aaa"), !is_too_long, "{page}");
        }
    }
}

#[test]
fn person_who_sent_a_form_is_led_back_to_the_page_of_the_form() {
    let own = "https://app.example.org";
    let long = format!("{own}/{}", "a".repeat(3000));
    let back_to_root = "/sign-in?return=%2F&unsaved";
    for (referers, expected) in [
        (
            &["https://app.example.org/edit?a=b&c"][..],
            "/sign-in?return=%2Fedit%3Fa%3Db%26c&unsaved",
        ),
        (&["https://app.example.org"], back_to_root),
        (
            &["HTTPS://App.Example.org:443/x"],
            "/sign-in?return=%2Fx&unsaved",
        ),
        // The proxy may not know that the browser uses HTTPS.
        (
            &["http://app.example.org/x"],
            "/sign-in?return=%2Fx&unsaved",
        ),
        (
            &["https://app.example.org//evil.example/x"],
            "/sign-in?return=%2F%2Fevil.example%2Fx&unsaved",
        ),
        (&[], back_to_root),
        (&[""], back_to_root),
        (&["/edit"], back_to_root),
        (
            &["https://app.example.org/a", "https://app.example.org/a"],
            back_to_root,
        ),
        (&["https://evil.example/edit"], back_to_root),
        (&["https://app.example.org.evil.example/edit"], back_to_root),
        (&["https://app.example.org:8443/edit"], back_to_root),
        (&["https://app.example.org@evil.example/edit"], back_to_root),
        (&["https://other.example.org/edit"], back_to_root),
        (&["data:text/html,a"], back_to_root),
        (&["javascript:alert(1)"], back_to_root),
        (&[long.as_str()], "/sign-in?return=%2F&too_long&unsaved"),
    ] {
        let referers = referers.iter().map(|it| ("referer", *it));
        let list: Vec<_> = [("sec-fetch-mode", "navigate")]
            .into_iter()
            .chain(referers)
            .collect();
        let headers = headers(&list);
        for method in ["POST", "PUT", "DELETE", "get", ""] {
            let led = sign_in("/sign-in", None).redirect(
                request(Some(method), &headers),
                RedirectReason::NotAuthenticated,
            );
            assert_eq!(led.as_deref(), Some(expected), "{method} {list:?}");
        }
        // A page that is only read is itself the address to come back to.
        for method in ["GET", "HEAD"] {
            let led = sign_in("/sign-in", None).redirect(
                request(Some(method), &headers),
                RedirectReason::NotAuthenticated,
            );
            assert_eq!(led.as_deref(), Some("/sign-in?return=%2Fa%3Fb%3Dc%26d"));
        }
    }
    let headers = headers(&[
        ("sec-fetch-mode", "navigate"),
        ("referer", "https://app.example.org/edit"),
    ]);
    let other = sign_in("https://auth.example.org/sign-in", Some("example.org"));
    let page = "https://auth.example.org/sign-in";
    let led = other.redirect(
        request(Some("POST"), &headers),
        RedirectReason::NotAuthenticated,
    );
    let whole = format!("{page}?return=https%3A%2F%2Fapp.example.org%2Fedit&unsaved");
    assert_eq!(led, Some(whole));
    let unknown = BrowserRequest {
        host: None,
        ..request(Some("POST"), &headers)
    };
    assert_eq!(
        other.redirect(unknown, RedirectReason::NotAuthenticated),
        Some(format!("{page}?unsaved"))
    );
    // A form to the sign-in page belongs to no application.
    let itself = BrowserRequest {
        path: Some("/sign-in?return=%2F"),
        ..request(Some("POST"), &headers)
    };
    assert_eq!(
        sign_in("/sign-in", None).redirect(itself, RedirectReason::NotAuthenticated),
        None
    );
}

#[test]
fn person_whose_browser_has_two_sessions_is_told_so() {
    let headers = headers(&[("sec-fetch-mode", "navigate")]);
    let led = sign_in("/sign-in", None)
        .redirect(request(Some("GET"), &headers), RedirectReason::TwoSessions);
    assert_eq!(
        led.as_deref(),
        Some("/sign-in?return=%2Fa%3Fb%3Dc%26d&two_sessions")
    );
    let program = HeaderMap::new();
    assert_eq!(
        sign_in("/sign-in", None)
            .redirect(request(Some("GET"), &program), RedirectReason::TwoSessions),
        None
    );
}

#[test]
fn no_dialog_opens_where_there_is_a_page_to_sign_in_at() {
    let sign_in = sign_in("/sign-in", None);
    let mode = |mode| ("sec-fetch-mode", mode);
    let html = ("accept", "text/html,*/*;q=0.8");
    let twice = ("cookie", "__Host-rolegate=rgs_A; a=b; __Host-rolegate=");
    let get = Some("GET");
    for (method, list, without, with) in [
        // A program may always be asked for a password.
        (get, &[][..], true, true),
        (get, &[("accept", "*/*")], true, true),
        (get, &[COOKIE], true, true),
        (Some("POST"), &[], true, true),
        // A page is not interrupted, unless its script sent credentials.
        (get, &[mode("cors")], false, true),
        (get, &[mode("no-cors")], false, true),
        (get, &[mode("navigate"), mode("navigate")], false, true),
        // A person is redirected, whatever else the browser sends.
        (get, &[mode("navigate")], false, false),
        (Some("POST"), &[mode("navigate"), COOKIE], false, false),
        (get, &[html], false, false),
        (get, &[html, mode("")], false, false),
        // The proxy was configured before there was a sign-in page.
        (None, &[mode("navigate")], true, true),
        (None, &[html], true, true),
        // Only a browser sends the cookie twice.
        (get, &[twice], false, false),
        (None, &[twice], false, false),
        (get, &[COOKIE, COOKIE], false, false),
        (None, &[twice, mode("navigate")], false, false),
    ] {
        let headers = headers(list);
        let request = request(method, &headers);
        let found = [false, true].map(|it| sign_in.allows_basic_challenge(request, it));
        assert_eq!(found, [without, with], "{method:?} {list:?}");
    }
    // Each cookie name counts only where that cookie is used.
    let of_domain = SignIn {
        cookie_domain: Some("example.org".to_owned()),
        ..sign_in
    };
    let headers = headers(&[twice]);
    assert!(of_domain.allows_basic_challenge(request(get, &headers), false));
}
