//! Tests `/sign-out`.

use super::{
    DOMAIN, FORM_TYPE, HTTPS, LOOPBACK, SAME_ORIGIN, cookies, ended_sessions, fetch, gateway, get,
    request,
};
use auth_fixture::refusal;
use rolegate_auth_client::{Reason, auth_v1::RevokeTokensResponse};

fn removed(name: &str, attributes: &str) -> String {
    format!("{name}=; Path=/; {attributes}SameSite=Lax")
}

/// Returns the `Set-Cookie` of the cookie that says that the person has signed out.
fn said(secure: &str) -> String {
    format!("rolegate-signed-out=1; Path=/sign-in; Max-Age=60; HttpOnly; {secure}SameSite=Lax")
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
                said(""),
            ],
            "rgs_admin rgs_user",
        ),
        (
            &[],
            &https,
            "__Host-rolegate=rgs_user; a=b; rolegate=rgs_admin",
            [
                removed("__Host-rolegate-console", secure),
                removed("__Host-rolegate", secure),
                said("Secure; "),
            ],
            "rgs_user",
        ),
        // `COOKIE_DOMAIN` was set when the person signed in.
        (
            &[],
            &https,
            "__Secure-rolegate=rgd_user; __Host-rolegate=rgs_user",
            [
                removed("__Host-rolegate-console", secure),
                removed("__Host-rolegate", secure),
                said("Secure; "),
            ],
            "rgs_user rgd_user",
        ),
        (
            &DOMAIN,
            &https,
            "__Host-rolegate-console=rgs_user; __Secure-rolegate=rgd_user; __Host-rolegate=rgs_admin",
            [
                removed("__Host-rolegate-console", secure),
                removed(
                    "__Secure-rolegate",
                    &format!("Domain=example.org; {secure}"),
                ),
                said("Secure; "),
            ],
            "rgs_user rgd_user rgs_admin",
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
                said("Secure; "),
            ],
            "rgs_user rgd_user",
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
        assert_eq!(response.header("clear-site-data"), "\"cache\"", "{cookie}");
        // All sessions end by one call.
        assert_eq!(calls.methods(), ["RevokeTokens"]);
        assert_eq!(ended_sessions(&calls), [ended]);
    }
}

#[tokio::test]
async fn every_session_ends_however_many_cookies_other_hosts_have_set() {
    let number = |cookie: &str| {
        (0..120)
            .map(|it| format!("{cookie}{it}"))
            .collect::<Vec<_>>()
    };
    let names = number("__Secure-rolegate=rgd_");
    let secure = [("host", "auth.example.org"), HTTPS];
    for place in [0, 60, 120] {
        let mut cookies_sent = names.clone();
        cookies_sent.insert(place, "__Secure-rolegate=rgd_user".to_owned());
        cookies_sent.push("__Secure-rolegate=rgd_user; __Secure-rolegate=rgk_user".to_owned());
        cookies_sent.push("__Secure-rolegate=a\"b; __Secure-rolegate".to_owned());
        let cookie = cookies_sent.join("; ");
        let (router, calls) = gateway(&DOMAIN);
        let headers = [&secure[..], &[SAME_ORIGIN, FORM_TYPE, ("cookie", &cookie)]].concat();
        let response = fetch(&router, request("POST", "/sign-out", &headers, "")).await;
        assert_eq!((response.status, cookies(&response).len()), (303, 3));
        assert_eq!(calls.methods(), ["RevokeTokens"]);
        let call = ended_sessions(&calls).concat();
        let ended: Vec<_> = call
            .split(' ')
            .filter(|word| word.starts_with("rgd_"))
            .collect();
        assert_eq!(ended.len(), 121, "{call}");
        assert_eq!(ended[place], "rgd_user", "{call}");
    }
}

#[tokio::test]
async fn page_says_that_a_session_could_not_be_ended_and_keeps_the_cookies() {
    let (router, calls) = gateway(&[]);
    calls.fail("rgs_down", refusal(Reason::StoreUnavailable));
    let cookie = ("cookie", "rolegate=rgs_user; rolegate=rgs_down");
    let headers = [LOOPBACK, SAME_ORIGIN, FORM_TYPE, cookie];
    let response = fetch(&router, request("POST", "/sign-out", &headers, "return=/a")).await;
    assert_eq!(response.status, 503, "{}", response.text);
    assert!(cookies(&response).is_empty(), "they can be tried again");
    assert_eq!(
        response.header("clear-site-data"),
        "",
        "nobody has signed out"
    );
    assert!(response.text.contains("Service temporarily unavailable."));
    assert!(response.text.contains(r#"action="/sign-out""#));
    assert_eq!(calls.all().len(), 1);
}

#[tokio::test]
async fn an_auth_service_of_the_version_before_ends_one_session_after_another() {
    for (cookie, called) in [
        // A replica of the previous release reads only the first session of a call.
        (
            "rolegate=rgs_user; rolegate=rgs_before; rolegate=rgs_admin",
            &["rgs_user rgs_before rgs_admin", "", ""][..],
        ),
        // A session that has ended or never existed does not keep another from being ended.
        (
            "rolegate=rgs_before; rolegate=rgs_user; rolegate=rgs_ended; rolegate=rgs_admin",
            &["rgs_before rgs_user rgs_ended rgs_admin", "", "", ""],
        ),
    ] {
        let (router, calls) = gateway(&[]);
        calls.edit("RevokeTokens", |revoked: &mut RevokeTokensResponse| {
            revoked.cookie_sessions_ended = false;
        });
        let headers = [LOOPBACK, SAME_ORIGIN, FORM_TYPE, ("cookie", cookie)];
        let response = fetch(&router, request("POST", "/sign-out", &headers, "")).await;
        assert_eq!((response.status, cookies(&response).len()), (303, 3));
        assert_eq!(ended_sessions(&calls), called);
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
    assert!(calls.all().is_empty());
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
            (303, 3),
            "{cookie}"
        );
    }
}

#[tokio::test]
async fn for_a_domain_the_host_of_the_application_is_asked_once_more() {
    let origins = ["--return-origins", "https://app.example.org"];
    let on_domain = [&DOMAIN[..], &origins].concat();
    let https = [("host", "auth.example.org"), HTTPS];
    for (arguments, back, location) in [
        (
            &on_domain,
            "https://app.example.org/a?b=c",
            "https://app.example.org/a?b=c",
        ),
        // At another host, the application has another cookie.
        (
            &origins.to_vec(),
            "https://app.example.org/a",
            "/sign-in?return=https%3A%2F%2Fapp.example.org%2Fa",
        ),
        (
            &on_domain,
            "https://auth.example.org/a",
            "/sign-in?return=%2Fa",
        ),
        (&on_domain, "https://evil.example/", "/sign-in"),
        (&on_domain, "//evil.example/", "/sign-in"),
        (&on_domain, "", "/sign-in"),
    ] {
        let headers = [&https[..], &[SAME_ORIGIN, FORM_TYPE]].concat();
        let request = request("POST", "/sign-out", &headers, &format!("return={back}"));
        let response = fetch(&gateway(arguments).0, request).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, location),
            "{back}"
        );
    }
}

#[tokio::test]
async fn the_page_says_once_that_somebody_has_signed_out() {
    const SAID: &str = r#"<p class="message">You have signed out.</p>"#;
    for (cookie, says) in [
        ("rolegate-signed-out=1", true),
        ("a=b; rolegate-signed-out=1; c=d", true),
        ("rolegate-signed-out=", false),
        ("rolegate-signed-out=2", false),
        ("xrolegate-signed-out=1", false),
        ("a=rolegate-signed-out=1", false),
        ("a=b", false),
    ] {
        let headers = [LOOPBACK, ("cookie", cookie)];
        let page = get("/sign-in?return=/a", &headers).await;
        assert_eq!(
            (page.status, page.text.contains(SAID)),
            (200, says),
            "{cookie}"
        );
        assert!(
            page.text.contains(r#"name="return" value="/a""#),
            "{}",
            page.text
        );
        let removal = "rolegate-signed-out=1; Path=/sign-in; Max-Age=0; HttpOnly; SameSite=Lax";
        let set = cookies(&page);
        assert_eq!(set, if says { vec![removal] } else { vec![] }, "{cookie}");
    }
    let page = get(
        "/sign-out",
        &[LOOPBACK, ("cookie", "rolegate-signed-out=1")],
    )
    .await;
    assert!(!page.text.contains(SAID) && cookies(&page).is_empty());
}
