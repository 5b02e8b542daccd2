//! Tests `/account`, and `/` for people.

use super::{HTTPS, LOOPBACK, SAME_ORIGIN, bare, fetch, get, reading_gateway, request, send};
use crate::console::ACCOUNT_ASSETS;
use http::HeaderValue;

const NAVIGATION: [(&str, &str); 2] = [
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];

const VARY: &str = "Sec-Fetch-Mode, Sec-Fetch-Dest";

#[tokio::test]
async fn page_has_the_policy_of_the_console_and_its_files_below_account() {
    let router = reading_gateway(&[]);
    for at in [&[LOOPBACK][..], &[("host", "auth.example.org"), HTTPS]] {
        let page = get("/account", at).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, "text/html; charset=utf-8")
        );
        let console = get("/console/", at).await;
        let head = fetch(&router, request("HEAD", "/account", at, "")).await;
        for name in [
            "content-security-policy",
            "referrer-policy",
            "cross-origin-opener-policy",
            "cache-control",
            "x-content-type-options",
        ] {
            assert_ne!(page.header(name), "", "{name}");
            assert_eq!(page.header(name), console.header(name), "{name}");
            assert_eq!(page.header(name), head.header(name), "{name}");
        }
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        assert!(page.headers.get("set-cookie").is_none());
        let known = [at, &[("if-none-match", page.header("etag"))]].concat();
        assert_eq!(get("/account", &known).await.status, 304);
        // The page loads only files that a proxy passes, and has one link to another address.
        let (own, all) = (
            page.text.matches("=\"/account").count(),
            page.text.matches("=\"/").count(),
        );
        assert_eq!((own + 1, all), (all, 6), "{}", page.text);
        assert!(page.text.contains("href=\"/console/\""), "{}", page.text);
    }
}

#[tokio::test]
async fn exactly_what_the_page_needs_is_served_and_no_administration() {
    for name in ACCOUNT_ASSETS {
        let response = get(&format!("/account/{name}"), &[LOOPBACK]).await;
        assert_eq!(response.status, 200, "{name}");
    }
    let script = get("/account/account_page.js", &[LOOPBACK]).await;
    assert_eq!(
        script.header("content-type"),
        "text/javascript; charset=utf-8"
    );
    assert!(script.text.contains("second_step_js") && !script.text.contains("users_js"));
    let german = [LOOPBACK, ("accept-language", "de")];
    let in_german = get("/account/account_page.js", &german).await;
    assert_ne!(in_german.text, script.text);
    assert_eq!(in_german.header("content-language"), "de");
    for other in [
        "",
        "main.js",
        "users.js",
        "posts.js",
        "requests.js",
        "index.html",
        "account.html",
        "set_password.html",
        "a/b",
        "%ff",
        "..%2fbase.css",
    ] {
        let router = reading_gateway(&[]);
        send(&router, bare("GET", &format!("/account/{other}")))
            .await
            .assert_error(404, "Not Found");
    }
}

#[tokio::test]
async fn page_only_reads_and_needs_encryption() {
    for insecure in [("host", "example.org"), ("host", "10.0.0.1:8000")] {
        let page = get("/account", &[insecure]).await;
        assert_eq!(page.status, 200);
        let has_script = page.text.contains("<script");
        assert!(
            !has_script && page.text.contains("needs HTTPS"),
            "{}",
            page.text
        );
    }
    let response = send(&reading_gateway(&[]), bare("POST", "/account")).await;
    response.assert_error(405, "Method Not Allowed");
}

#[tokio::test]
async fn it_is_there_where_people_sign_in_also_without_the_console() {
    for (arguments, status) in [
        (&["--console", "off"][..], 200),
        (&["--sign-in", "off"], 404),
    ] {
        let router = reading_gateway(arguments);
        for path in ["/account", "/account/account_page.js"] {
            let file = fetch(&router, request("GET", path, &[LOOPBACK], "")).await;
            assert_eq!(file.status, status, "{path} {arguments:?}");
        }
        let console = fetch(&router, request("GET", "/console/", &[LOOPBACK], "")).await;
        assert_eq!(console.status, 404, "{arguments:?}");
    }
}

#[tokio::test]
async fn person_at_the_root_is_led_to_the_account() {
    let cookie = ("cookie", "rolegate-console=rgs_user");
    for arguments in [&[][..], &["--console", "off"]] {
        let router = reading_gateway(arguments);
        for others in [&[][..], &[cookie], &[cookie, SAME_ORIGIN]] {
            for method in ["GET", "HEAD"] {
                let headers = [&[LOOPBACK], &NAVIGATION[..], others].concat();
                let response = fetch(&router, request(method, "/", &headers, "")).await;
                assert_eq!(
                    (response.status, response.header("location")),
                    (303, "/account"),
                    "{method} {others:?}"
                );
                assert_eq!(response.header("vary"), VARY);
                assert_eq!(response.header("cache-control"), "no-store");
                assert_eq!(response.text, "");
            }
        }
    }
}

#[tokio::test]
async fn program_at_the_root_gets_the_documented_answer() {
    let router = reading_gateway(&[]);
    let [mode, dest] = NAVIGATION;
    for headers in [
        &[][..],
        &[mode],
        &[dest],
        &[mode, mode, dest],
        &[mode, dest, dest],
        &[mode, ("sec-fetch-dest", "iframe")],
        &[mode, ("sec-fetch-dest", "document, iframe")],
        &[mode, ("sec-fetch-dest", "Document")],
        &[("sec-fetch-mode", "cors"), dest],
        &[("sec-fetch-mode", ""), dest],
        &[("accept", "text/html")],
        &[mode, dest, ("authorization", "Bearer user")],
        &[mode, dest, ("authorization", "Bearer bad")],
        &[mode, dest, ("authorization", "")],
    ] {
        let headers = [&[LOOPBACK], headers].concat();
        let response = fetch(&router, request("GET", "/", &headers, "")).await;
        assert_eq!(
            (response.status, response.text.as_str()),
            (200, r#"{"message":"Role-Based Authorization API"}"#),
            "{headers:?}"
        );
        assert_eq!(response.header("content-type"), "application/json");
        assert_eq!(response.header("vary"), VARY);
    }
    // The header stands beside those of CORS.
    let with_cors = reading_gateway(&["--cors-allowed-origins", "https://app.example"]);
    let response = fetch(&with_cors, request("GET", "/", &[LOOPBACK], "")).await;
    let all: Vec<_> = response.headers.get_all("vary").iter().collect();
    assert!(
        all.len() > 1 && all.contains(&&HeaderValue::from_static(VARY)),
        "{all:?}"
    );
    let nowhere_to_sign_in = reading_gateway(&["--sign-in", "off"]);
    let headers = [&[LOOPBACK], &NAVIGATION[..]].concat();
    let response = fetch(&nowhere_to_sign_in, request("GET", "/", &headers, "")).await;
    assert_eq!((response.status, response.header("vary")), (200, ""));
}
