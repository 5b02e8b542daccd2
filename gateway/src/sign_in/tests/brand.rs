//! Tests the operator's title, logo and help text.

use super::{DOMAIN, File, HTTPS, LOOPBACK, bare, fetch, reading_gateway, request, send};
use std::fs;

const SVG: &str = r#"<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1v1z"/></svg>"#;
const BRAND: [&str; 4] = [
    "--sign-in-title",
    "A & B",
    "--sign-in-help",
    "https://help.example.org/?a&b",
];
const NAVIGATION: (&str, &str) = ("sec-fetch-mode", "navigate");

/// Every page that people can see.
const PAGES: [(&str, &[(&str, &str)]); 9] = [
    ("/sign-in", &[LOOPBACK]),
    ("/sign-out", &[LOOPBACK]),
    ("/set-password", &[LOOPBACK]),
    ("/account", &[LOOPBACK]),
    ("/sign-in", &[("host", "example.org")]),
    ("/account", &[("host", "example.org")]),
    ("/sign-in", &[LOOPBACK, ("sec-fetch-dest", "iframe")]),
    ("/sign-in/refused", &[LOOPBACK, NAVIGATION]),
    ("/sign-in/ambiguous-address", &[LOOPBACK]),
];

async fn get(arguments: &[&str], path: &str, headers: &[(&str, &str)]) -> File {
    fetch(
        &reading_gateway(arguments),
        request("GET", path, headers, ""),
    )
    .await
}

#[tokio::test]
async fn every_page_shows_the_title_and_the_help_of_the_operator_as_text() {
    let link = r#"<a href="https://help.example.org/?a&amp;b" target="_blank" rel="noreferrer">Get help</a>"#;
    for (path, headers) in PAGES {
        let page = get(&BRAND, path, headers).await;
        for part in [" · A &amp; B</title>", "<span>A &amp; B</span>", link] {
            assert!(page.text.contains(part), "{path}: {part}: {}", page.text);
        }
        assert!(!page.text.contains("Rolegate"), "{path}: {}", page.text);
        let plain = get(&[], path, headers).await;
        assert!(plain.text.contains(" · Rolegate</title>"), "{}", plain.text);
        assert!(plain.text.contains(r#"class="help"></"#), "{}", plain.text);
    }
    let console = get(&BRAND, "/console/", &[LOOPBACK]).await;
    assert!(console.text.contains("Rolegate") && !console.text.contains("A &amp; B"));
}

#[tokio::test]
async fn on_the_host_of_an_application_style_logo_and_links_are_those_of_the_page() {
    let arguments = [&DOMAIN[..], &BRAND].concat();
    let headers = [("host", "app.example.org"), HTTPS, NAVIGATION];
    for path in ["/sign-in/refused", "/sign-in/ambiguous-address"] {
        let page = get(&arguments, path, &headers).await;
        for part in [
            r#"<link rel="icon" href="https://auth.example.org/sign-in/logo">"#,
            r#"<img src="https://auth.example.org/sign-in/logo" alt="">"#,
            "<span>A &amp; B</span>",
        ] {
            assert!(page.text.contains(part), "{part}: {}", page.text);
        }
        let policy = page.header("content-security-policy");
        assert!(
            policy.contains("img-src https://auth.example.org;"),
            "{policy}"
        );
    }
}

#[tokio::test]
async fn the_logo_is_a_picture_that_can_do_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("logo");
    fs::write(&file, SVG).expect("written");
    let arguments = ["--sign-in-logo-file", file.to_str().expect("UTF-8")];
    for path in ["/sign-in/logo", "/account/logo"] {
        let logo = get(&arguments, path, &[LOOPBACK]).await;
        assert_eq!((logo.status, logo.text.as_str()), (200, SVG));
        for (name, value) in [
            ("content-type", "image/svg+xml"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-cache"),
            (
                "content-security-policy",
                "default-src 'none'; style-src 'unsafe-inline'; sandbox",
            ),
        ] {
            assert_eq!(logo.header(name), value, "{path}: {name}");
        }
        let known = [LOOPBACK, ("if-none-match", logo.header("etag"))];
        assert_eq!(get(&arguments, path, &known).await.status, 304);

        let ours = get(&[], path, &[LOOPBACK]).await;
        assert_eq!(ours.header("content-type"), "image/svg+xml");
        assert_ne!(ours.header("etag"), logo.header("etag"));
        let response = send(&reading_gateway(&[]), bare("POST", path)).await;
        response.assert_error(405, "Method Not Allowed");
    }
    let console = get(&arguments, "/console/icon.svg", &[LOOPBACK]).await;
    assert_ne!(console.text, SVG);
}
