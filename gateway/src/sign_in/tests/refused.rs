//! Tests interstitials. They are for a person who may not open a page, for a frame without a session, for an address
//! that does not pass, and for a return address that is not allowed.

use super::{DOMAIN, File, HTTPS, LOOPBACK, cookies, fetch, get, reading_gateway, request};

const NAVIGATION: [(&str, &str); 4] = [
    ("sec-fetch-mode", "navigate"),
    ("x-forwarded-method", "GET"),
    ("x-forwarded-host", "app.example.org"),
    ("x-forwarded-uri", "/reports?month=5"),
];
const APPLICATION: [(&str, &str); 2] = [("host", "app.example.org"), HTTPS];

async fn refused(arguments: &[&str], headers: &[(&str, &str)]) -> File {
    fetch(
        &reading_gateway(arguments),
        request("GET", "/sign-in/refused", headers, ""),
    )
    .await
}

#[tokio::test]
async fn a_refused_person_is_named_and_led_to_the_pages() {
    let back = "%2Freports%3Fmonth%3D5";
    let elsewhere = "https%3A%2F%2Fapp.example.org%2Freports%3Fmonth%3D5";
    for (arguments, cookie, host, back) in [
        (&[][..], "__Host-rolegate=rgs_app_user", "", back),
        (
            &DOMAIN,
            "__Secure-rolegate=rgd_user",
            "https://auth.example.org",
            elsewhere,
        ),
    ] {
        let headers = [&APPLICATION[..], &NAVIGATION, &[("cookie", cookie)]].concat();
        let page = refused(arguments, &headers).await;
        assert_eq!(
            (page.status, page.header("rolegate-reason")),
            (403, "ROLE_INSUFFICIENT")
        );
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(page.header("cache-control"), "no-store");
        for part in [
            "You are signed in as <strong>user</strong>, who may not open this page.".to_owned(),
            format!(
                r#"href="{host}/sign-in?return={back}" target="_top">Sign in as somebody else"#
            ),
            format!(r#"href="{host}/sign-out?return={back}" target="_top">Sign out"#),
            format!(r#"href="{host}/sign-in/sign_in.css""#),
        ] {
            assert!(page.text.contains(&part), "{part}: {}", page.text);
        }
        assert!(
            !page.text.contains("<form") && cookies(&page).is_empty(),
            "{}",
            page.text
        );
    }
}

#[tokio::test]
async fn nobody_is_named_by_what_is_no_session() {
    for cookie in [
        "",
        "__Host-rolegate=rgs_ended",
        "__Host-rolegate=rgs_down",
        "__Host-rolegate=rgk_user",
        "__Host-rolegate-console=rgs_user",
        "rolegate=rgs_app_user",
        "__Host-rolegate=rgs_app_user; __Host-rolegate=rgs_app_admin",
    ] {
        let page = refused(&[], &[&APPLICATION[..], &[("cookie", cookie)]].concat()).await;
        assert_eq!(page.status, 403, "{cookie}");
        assert!(
            page.text.contains("<p>You may not open this page.</p>"),
            "{cookie}: {}",
            page.text
        );
        assert!(
            page.text.contains(r#"href="/sign-in" target="_top""#),
            "{}",
            page.text
        );
    }
}

#[tokio::test]
async fn a_forged_address_is_text_in_a_link_to_our_page() {
    for uri in [
        "/\"><script>alert(1)</script>",
        "//evil.example/",
        "javascript:alert(1)",
        "/%0d%0a",
    ] {
        let forged = [
            ("sec-fetch-mode", "navigate"),
            ("x-forwarded-method", "GET"),
            ("x-forwarded-host", "\"><script>"),
            ("x-forwarded-uri", uri),
        ];
        for arguments in [&[][..], &DOMAIN] {
            let page = refused(arguments, &[&APPLICATION[..], &forged].concat()).await;
            assert_eq!(page.status, 403);
            assert!(!page.text.contains("<script"), "{}", page.text);
            let links = page
                .text
                .split("href=\"")
                .skip(1)
                .map(|it| it.split('"').next().expect("text"));
            for link in links {
                let path = link
                    .strip_prefix("https://auth.example.org")
                    .unwrap_or(link);
                assert!(path.starts_with("/sign-"), "{uri}: {link}");
            }
        }
    }
}

#[tokio::test]
async fn a_frame_gets_a_link_that_opens_the_whole_page_and_never_the_form() {
    let origins = ["--return-origins", "https://app.example.org"];
    let path = "/sign-in?return=https://app.example.org/a%3Fb";
    let router = reading_gateway(&origins);
    for dest in ["iframe", "frame", "embed", "object", "fencedframe"] {
        let headers = [LOOPBACK, ("sec-fetch-dest", dest)];
        let page = fetch(&router, request("GET", path, &headers, "")).await;
        assert_eq!(
            (page.status, page.header("cache-control")),
            (200, "no-store"),
            "{dest}"
        );
        let link = r#"<a href="/sign-in?return=https%3A%2F%2Fapp.example.org%2Fa%3Fb" target="_top">sign in</a>"#;
        assert!(page.text.contains(link), "{dest}: {}", page.text);
        assert!(
            !page.text.contains("<form") && !page.text.contains("<input"),
            "{dest}: {}",
            page.text
        );
        let policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'";
        assert_eq!(page.header("content-security-policy"), policy, "{dest}");
    }
    for dest in ["document", "empty", "", "iframes"] {
        let headers = [LOOPBACK, ("sec-fetch-dest", dest)];
        let page = fetch(&router, request("GET", path, &headers, "")).await;
        assert!(
            page.text.contains("<form method=\"post\""),
            "{dest}: {}",
            page.text
        );
        assert!(
            page.header("content-security-policy")
                .contains("frame-ancestors 'none'"),
            "{dest}"
        );
    }
    // Signing out needs a click on a form, and no other page may cover it.
    let page = get("/sign-out", &[LOOPBACK, ("sec-fetch-dest", "iframe")]).await;
    assert!(
        page.header("content-security-policy")
            .contains("frame-ancestors 'none'")
    );
}

#[tokio::test]
async fn an_address_that_does_not_pass_is_told_why_also_without_the_page() {
    for (arguments, host) in [
        (&[][..], ""),
        (&DOMAIN, "https://auth.example.org"),
        (&["--sign-in", "off"], ""),
    ] {
        let router = reading_gateway(arguments);
        for method in ["GET", "HEAD", "POST", "OPTIONS", "PURGE"] {
            let path = "/sign-in/ambiguous-address";
            let page = fetch(&router, request(method, path, &APPLICATION, "")).await;
            assert_eq!(
                (page.status, page.header("rolegate-reason")),
                (400, "PATH_INVALID"),
                "{method}"
            );
            assert_eq!(
                page.header("content-type"),
                "text/html; charset=utf-8",
                "{method}"
            );
            if method != "HEAD" {
                assert!(
                    page.text.contains("can be read in more than one way"),
                    "{}",
                    page.text
                );
                assert!(
                    page.text.contains(&format!("\"{host}/sign-in/base.css\"")),
                    "{}",
                    page.text
                );
            }
        }
    }
}

#[tokio::test]
async fn a_return_address_that_is_not_allowed_is_said_on_the_page() {
    const SAID: &str = "After signing in, you will not return to the page that you came from, because its address is not allowed here.";
    let router = reading_gateway(&["--return-origins", "https://app.example.org"]);
    for (back, is_said) in [
        ("https://evil.example/", true),
        ("//evil.example", true),
        ("http://app.example.org/", true),
        ("javascript:alert(1)", true),
        ("https://me@app.example.org/", true),
        ("https://app.example.org/a", false),
        ("/a", false),
        ("", false),
    ] {
        for path in ["/sign-in", "/sign-out"] {
            let path = format!("{path}?return={back}");
            let page = fetch(&router, request("GET", &path, &[LOOPBACK], "")).await;
            assert_eq!(
                (page.status, page.text.contains(SAID)),
                (200, is_said),
                "{path}"
            );
            // The page shows no text that a stranger chose.
            assert!(!page.text.contains("evil"), "{}", page.text);
        }
    }
    for path in ["/sign-in", "/sign-out"] {
        let page = fetch(&router, request("GET", path, &[LOOPBACK], "")).await;
        assert!(!page.text.contains(SAID), "{path}");
    }
}

#[tokio::test]
async fn without_https_the_way_by_ssh_is_shown_where_no_proxy_is_in_between() {
    for (host, command, url) in [
        (
            "10.0.0.1:8000",
            "ssh -L 8000:localhost:8000 10.0.0.1",
            "http://localhost:8000/sign-in",
        ),
        (
            "Build.Example.org:8123",
            "ssh -L 8123:localhost:8123 build.example.org",
            "http://localhost:8123/sign-in",
        ),
        (
            "nas",
            "ssh -L 8000:localhost:80 nas",
            "http://localhost:8000/sign-in",
        ),
        (
            "[2001:db8::1]:9000",
            "ssh -L 9000:localhost:9000 2001:db8::1",
            "http://localhost:9000/sign-in",
        ),
    ] {
        for path in ["/sign-in", "/sign-out", "/set-password"] {
            let page = get(path, &[("host", host)]).await;
            assert!(
                page.text.contains("Signing in needs HTTPS."),
                "{}",
                page.text
            );
            assert!(
                page.text.contains(&format!("<code>{command}</code>")),
                "{host}: {}",
                page.text
            );
            assert!(
                page.text.contains(&format!("<a href=\"{url}\">")),
                "{host}: {}",
                page.text
            );
            assert!(!page.text.contains("<form"), "{}", page.text);
        }
    }
    let host = ("host", "10.0.0.1:8000");
    for headers in [
        // The tunnel would bypass the proxy.
        &[host, ("x-forwarded-proto", "http")][..],
        &[host, ("x-forwarded-for", "10.0.0.2")],
        &[host, ("forwarded", "for=10.0.0.2")],
        // The first would be an option of ssh, and the second is no host.
        &[("host", "-oproxycommand:8000")],
        &[("host", "a_b$(x):8000")],
    ] {
        let page = get("/sign-in", headers).await;
        assert!(!page.text.contains("ssh"), "{headers:?}: {}", page.text);
    }
}
