//! `/sign-out`.

use super::{DOMAIN, FORM_TYPE, HTTPS, LOOPBACK, SAME_ORIGIN, cookies, fetch, gateway, request};

fn removed(name: &str, attributes: &str) -> String {
    format!("{name}=; Path=/; {attributes}SameSite=Lax")
}

#[tokio::test]
async fn both_sessions_end_and_all_cookies_are_removed() {
    let https = [("host", "auth.example.org"), HTTPS];
    let secure = "Max-Age=0; HttpOnly; Secure; ";
    for (arguments, at, cookie, removed, ended) in [
        (
            &[][..],
            &[LOOPBACK][..],
            "rolegate=rgs_user; rolegate-console=rgs_admin",
            [
                removed("rolegate-console", "Max-Age=0; HttpOnly; "),
                removed("rolegate", "Max-Age=0; HttpOnly; "),
            ],
            2,
        ),
        (
            &[],
            &https,
            "__Host-rolegate=rgs_user; a=b; rolegate=rgs_admin",
            [
                removed("__Host-rolegate-console", secure),
                removed("__Host-rolegate", secure),
            ],
            1,
        ),
        (
            &DOMAIN,
            &https,
            "__Host-rolegate-console=rgs_user; __Secure-rolegate=rgd_user",
            [
                removed("__Host-rolegate-console", secure),
                removed(
                    "__Secure-rolegate",
                    &format!("Domain=example.org; {secure}"),
                ),
            ],
            2,
        ),
    ] {
        let (router, calls) = gateway(arguments);
        let headers = [at, &[SAME_ORIGIN, FORM_TYPE, ("cookie", cookie)]].concat();
        let response = fetch(&router, request("POST", "/sign-out", &headers, "")).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, "/sign-in"),
            "{cookie}"
        );
        assert_eq!(cookies(&response), removed, "{cookie}");
        let calls = calls.lock().expect("no panic").clone();
        assert!(
            calls
                .iter()
                .all(|call| call.starts_with("revoke_tokens None")),
            "{calls:?}"
        );
        assert_eq!(calls.len(), ended, "{calls:?}");
    }
}

#[tokio::test]
async fn sign_out_leads_to_the_page_with_a_valid_return_address() {
    for (back, location) in [
        ("%2Fa%3Fb%3Dc%26d", "/sign-in?return=%2Fa%3Fb%3Dc%26d"),
        ("", "/sign-in"),
        ("https://evil.example/", "/sign-in"),
        ("//evil.example/", "/sign-in"),
    ] {
        let headers = [LOOPBACK, SAME_ORIGIN, FORM_TYPE];
        let request = request("POST", "/sign-out", &headers, &format!("return={back}"));
        let response = fetch(&gateway(&[]).0, request).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, location),
            "{back}"
        );
    }
}

#[tokio::test]
async fn opening_the_page_ends_nothing_and_sessions_that_are_none_are_no_error() {
    let (router, calls) = gateway(&[]);
    let cookie = ("cookie", "rolegate=rgs_user; rolegate-console=rgs_user");
    for method in ["GET", "HEAD"] {
        let headers = [LOOPBACK, SAME_ORIGIN, cookie];
        let response = fetch(&router, request(method, "/sign-out", &headers, "")).await;
        assert_eq!(response.status, 200);
        assert!(cookies(&response).is_empty());
    }
    assert!(calls.lock().expect("no panic").is_empty());
    for cookie in [
        "",
        "rolegate=rgs_ended",
        "rolegate=x; rolegate-console=",
        "rolegate",
    ] {
        let headers = [LOOPBACK, SAME_ORIGIN, FORM_TYPE, ("cookie", cookie)];
        let response = fetch(&router, request("POST", "/sign-out", &headers, "")).await;
        assert_eq!(
            (response.status, cookies(&response).len()),
            (303, 2),
            "{cookie}"
        );
    }
}
