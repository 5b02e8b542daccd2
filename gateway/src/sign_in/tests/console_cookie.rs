//! Tests the console's cookie at the API.

use super::{DOMAIN, HTTPS, LOOPBACK, SAME_ORIGIN, reading_gateway, request, send};

const PLAIN: (&str, &str) = ("cookie", "rolegate-console=rgs_user");

async fn status(arguments: &[&str], headers: &[(&str, &str)]) -> u16 {
    let request = request("GET", "/profile", headers, "");
    send(&reading_gateway(arguments), request)
        .await
        .status
        .as_u16()
}

#[tokio::test]
async fn it_stands_for_a_token_in_requests_of_the_own_origin_only() {
    assert_eq!(status(&[], &[LOOPBACK, SAME_ORIGIN, PLAIN]).await, 200);
    let https = [("host", "auth.example.org"), HTTPS];
    let prefixed = ("cookie", "a=b; __Host-rolegate-console=rgs_user; c=d");
    assert_eq!(
        status(&[], &[&https[..], &[SAME_ORIGIN, prefixed]].concat()).await,
        200
    );
    for others in [
        &[][..],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-origin, cross-site")],
        &[SAME_ORIGIN, SAME_ORIGIN],
        &[("origin", "http://localhost:8000")],
        // A person opens the address, which is not a script's request.
        &[
            SAME_ORIGIN,
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ],
    ] {
        let headers = [&[LOOPBACK, PLAIN], others].concat();
        assert_eq!(status(&[], &headers).await, 401, "{others:?}");
    }
}

#[tokio::test]
async fn no_other_cookie_stands_for_a_token() {
    let (twice, long) = (
        "rolegate-console=rgs_user; rolegate-console=rgs_user",
        "x".repeat(100),
    );
    let long = format!("rolegate-console=rgs_user{long}");
    for cookie in [
        "rolegate=rgs_user",
        "__Host-rolegate=rgs_user",
        "__Secure-rolegate=rgd_user",
        "__Host-rolegate-console=rgs_user",
        "rolegate-console=rgd_user",
        "rolegate-console=user",
        "rolegate-console=rgk_user",
        "rolegate-console=Bearer rgs_user",
        "rolegate-console=",
        "rolegate-console",
        "Rolegate-Console=rgs_user",
        twice,
        &long,
    ] {
        let headers = [LOOPBACK, SAME_ORIGIN, ("cookie", cookie)];
        assert_eq!(status(&[], &headers).await, 401, "{cookie}");
    }
    assert_eq!(
        status(&[], &[LOOPBACK, SAME_ORIGIN, PLAIN, PLAIN]).await,
        401
    );
    // Over HTTPS, any host may set a cookie of this name.
    let https = [("host", "auth.example.org"), HTTPS, SAME_ORIGIN];
    assert_eq!(status(&[], &[&https[..], &[PLAIN]].concat()).await, 401);
    // The account page needs the cookie even without a console.
    for (arguments, expected) in [
        (&["--sign-in", "off"][..], 401),
        (&["--console", "off"], 200),
        (&DOMAIN, 200),
    ] {
        assert_eq!(
            status(arguments, &[LOOPBACK, SAME_ORIGIN, PLAIN]).await,
            expected,
            "{arguments:?}"
        );
    }
}

#[tokio::test]
async fn credentials_of_the_request_come_first_also_when_they_are_none() {
    for (authorization, expected) in [
        ("Bearer author", 200),
        ("Bearer bad", 401),
        ("Basic YTpi", 401),
        ("", 401),
    ] {
        let authorization = ("authorization", authorization);
        let headers = [LOOPBACK, SAME_ORIGIN, PLAIN, authorization];
        assert_eq!(status(&[], &headers).await, expected, "{authorization:?}");
    }
}
