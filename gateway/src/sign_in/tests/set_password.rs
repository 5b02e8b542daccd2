//! Tests `/set-password`.

use super::{HTTPS, LOOPBACK, bare, get, reading_gateway, send};

#[tokio::test]
async fn page_has_a_strict_policy_and_its_files_below_sign_in() {
    for at in [&[LOOPBACK][..], &[("host", "auth.example.org"), HTTPS]] {
        let page = get("/set-password", at).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, "text/html; charset=utf-8")
        );
        let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";
        assert_eq!(page.header("content-security-policy"), policy);
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        assert_eq!(page.header("cross-origin-opener-policy"), "same-origin");
        assert!(page.headers.get("set-cookie").is_none());
        for file in ["base.css", "sign_in.css", "logo", "set_password.js"] {
            assert!(
                page.text.contains(&format!("\"/sign-in/{file}\"")),
                "{file}: {}",
                page.text
            );
        }
        // All files of the page are below `/sign-in/`, because a proxy may pass no others.
        let (own, all) = (
            page.text.matches("=\"/sign-in/").count(),
            page.text.matches("=\"/").count(),
        );
        assert_eq!(own, all, "{}", page.text);
    }
}

#[tokio::test]
async fn its_script_contains_the_modules_that_it_imports_and_no_others() {
    let script = get("/sign-in/set_password.js", &[LOOPBACK]).await;
    let kind = script.header("content-type");
    assert_eq!(
        (script.status, kind),
        (200, "text/javascript; charset=utf-8")
    );
    for (module, is_contained) in [
        ("new_password_js", true),
        ("language_js", true),
        ("second_step_js", false),
        ("users_js", false),
    ] {
        let declaration = format!("const {module} = ");
        let contains = script.text.contains(&declaration);
        assert_eq!(contains, is_contained, "{module}");
    }
}

#[tokio::test]
async fn page_only_reads_and_asks_for_no_password_without_encryption() {
    for insecure in [("host", "example.org"), ("host", "10.0.0.1:8000")] {
        let page = get("/set-password", &[insecure]).await;
        assert_eq!(page.status, 200);
        let has_script = page.text.contains("<script");
        assert!(
            !has_script && page.text.contains("needs HTTPS"),
            "{}",
            page.text
        );
    }
    let response = send(&reading_gateway(&[]), bare("POST", "/set-password")).await;
    response.assert_error(405, "Method Not Allowed");
}
