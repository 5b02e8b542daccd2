//! Tests the decisions of `/authorize` about browsers. Which requests may use a cookie is tested in the crate that
//! decides it.

use super::{assert_denied, assert_denied_with, identity};
use crate::{
    forward_auth::router,
    memory::MemoryBudgets,
    settings::Settings,
    state::GatewayState,
    test_support::{File, TestResponse, authorized, bare, fetch, send, shared_auth_service},
};
use axum::{Router, body::Body};
use http::{HeaderName, Request};
use serde_json::Value;

/// The headers by which a proxy describes `GET https://app.example.org/reports?month=5`.
const FORWARDED: [(&str, &str); 4] = [
    ("x-forwarded-method", "GET"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "app.example.org"),
    ("x-forwarded-uri", "/reports?month=5"),
];
const NAVIGATE: (&str, &str) = ("sec-fetch-mode", "navigate");
const COOKIE: (&str, &str) = ("cookie", "a=b; __Host-rolegate=rgs_app_user; c=d");
const PAGE: &str = "/sign-in?return=%2Freports%3Fmonth%3D5";

async fn send_with(
    settings: &[&str],
    request: Request<Body>,
    headers: &[(&str, &str)],
) -> TestResponse {
    let (router, request) = prepare(settings, request, headers);
    send(&router, request).await
}

fn prepare(
    settings: &[&str],
    mut request: Request<Body>,
    headers: &[(&str, &str)],
) -> (Router, Request<Body>) {
    for (name, value) in headers {
        let name = HeaderName::try_from(*name).expect("a name");
        request
            .headers_mut()
            .append(name, value.parse().expect("a value"));
    }
    let settings = Settings::from_args(settings).expect("valid");
    let state = GatewayState::for_tests(
        shared_auth_service(),
        settings.sign_in.read().expect("valid"),
    );
    let memory = MemoryBudgets::new(&settings.public);
    (router(state, &settings.public, &memory), request)
}

async fn ask(path: &str, headers: &[(&str, &str)]) -> TestResponse {
    send_with(&[], bare("GET", path), &[&FORWARDED, headers].concat()).await
}

fn assert_led(response: &TestResponse, page: &str) {
    assert_eq!(
        (response.status.as_u16(), &response.body),
        (303, &Value::Null)
    );
    assert_eq!(response.header("location"), page);
    assert_eq!(response.header("cache-control"), "no-store");
    assert_eq!(response.header("clear-site-data"), "\"cache\"");
    assert_eq!(identity(response), ["", "", ""]);
}

#[tokio::test]
async fn a_session_in_the_cookie_passes_by_the_stored_role() {
    for path in ["/authorize", "/authorize?roles=user,author"] {
        let response = ask(path, &[COOKIE]).await;
        assert_eq!(
            (response.status.as_u16(), &response.body),
            (200, &Value::Null)
        );
        assert_eq!(identity(&response), ["2", "user", "user"]);
    }
    // Signing in again would not help a person who lacks the role.
    let denied = read("/authorize?roles=admin", &[COOKIE, NAVIGATE]).await;
    assert_eq!((denied.status, denied.header("location")), (403, ""));
}

async fn read(path: &str, headers: &[(&str, &str)]) -> File {
    let headers = [&FORWARDED, headers].concat();
    let (router, request) = prepare(&[], bare("GET", path), &headers);
    fetch(&router, request).await
}

#[tokio::test]
async fn a_refused_person_gets_a_page_and_nobody_else_does() {
    const PATH: &str = "/authorize?roles=admin";
    for navigation in [NAVIGATE, ("accept", "text/html,*/*")] {
        let denied = read(PATH, &[COOKIE, navigation]).await;
        assert_eq!(
            (denied.status, denied.header("rolegate-reason")),
            (403, "ROLE_INSUFFICIENT")
        );
        assert_eq!(denied.header("content-type"), "text/html; charset=utf-8");
        let policy = denied.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self';"),
            "{policy}"
        );
        for part in [
            "signed in as <strong>user</strong>, who may not open this page",
            r#"href="/sign-in?return=%2Freports%3Fmonth%3D5" target="_top""#,
            r#"href="/sign-out?return=%2Freports%3Fmonth%3D5" target="_top""#,
        ] {
            assert!(denied.text.contains(part), "{part}: {}", denied.text);
        }
    }
    // Scripts, programs, proxies that do not send the method, and requests with credentials are not redirected.
    for headers in [
        &[COOKIE][..],
        &[COOKIE, ("sec-fetch-mode", "cors"), ("accept", "text/html")],
        &[
            COOKIE,
            ("sec-fetch-mode", "no-cors"),
            ("accept", "text/html"),
        ],
        &[COOKIE, ("accept", "application/json")],
        &[("authorization", "Bearer user"), NAVIGATE],
        &[COOKIE, ("authorization", "Bearer user"), NAVIGATE],
    ] {
        assert_denied(&ask(PATH, headers).await, 403, "Insufficient privileges.");
    }
    let unsaid = send_with(&[], bare("GET", PATH), &[COOKIE, NAVIGATE]).await;
    assert_eq!(unsaid.status, 403);
    assert_eq!(unsaid.header("content-type"), "application/json");
}

#[tokio::test]
async fn a_person_without_a_session_is_led_to_the_page_and_a_program_is_not() {
    for (cookie, detail) in [
        ("a=b", "Not authenticated."),
        ("__Host-rolegate=rgk_user", "Not authenticated."),
        ("__Host-rolegate=rgs_ended", "Invalid or expired token."),
    ] {
        let headers = [("cookie", cookie)];
        for path in ["/authorize", "/authorize?roles=admin&redirect_status=303"] {
            assert_led(&ask(path, &[headers[0], NAVIGATE]).await, PAGE);
        }
        let response = ask("/authorize?redirect_status=401", &[headers[0], NAVIGATE]).await;
        // There is no `Basic` challenge, because a browser would open its dialog for a password in place of the page.
        assert_denied_with(&response, 401, detail, 1);
        assert_eq!(response.header("location"), PAGE);
        for mode in ["cors", "same-origin", "no-cors"] {
            let response = ask("/authorize", &[headers[0], ("sec-fetch-mode", mode)]).await;
            // The request of a script gets no `Basic` challenge either, because the dialog would interrupt its page.
            assert_denied_with(&response, 401, detail, 1);
            assert_eq!(response.header("location"), "");
        }
    }
    let accept = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    assert_led(&ask("/authorize", &[accept]).await, PAGE);
    let other_page = ["--sign-in-url", "https://auth.example.org/sign-in"];
    let response = send_with(
        &other_page,
        bare("GET", "/authorize"),
        &[&FORWARDED[..], &[NAVIGATE]].concat(),
    )
    .await;
    let url = "https%3A%2F%2Fapp.example.org%2Freports%3Fmonth%3D5";
    assert_led(
        &response,
        &format!("https://auth.example.org/sign-in?return={url}"),
    );
}

#[tokio::test]
async fn a_change_needs_a_page_of_the_application_and_a_method_that_is_not_said_is_one() {
    let said = &FORWARDED[1..];
    for method in [
        &[][..],
        &[FORWARDED[0], FORWARDED[0]],
        &[("x-forwarded-method", "POST")],
    ] {
        let headers = [said, method, &[COOKIE, NAVIGATE]].concat();
        let response = send_with(&[], bare("GET", "/authorize"), &headers).await;
        assert_denied(&response, 403, "Cross-site request.");
        response.assert_reason("CROSS_SITE");
        let own = [&headers[..], &[("sec-fetch-site", "same-origin")]].concat();
        assert_eq!(
            send_with(&[], bare("GET", "/authorize"), &own).await.status,
            200
        );
    }
    // The method of the proxy's own request does not count.
    assert_eq!(
        send_with(
            &[],
            bare("POST", "/authorize"),
            &[&FORWARDED[..], &[COOKIE]].concat()
        )
        .await
        .status,
        200
    );
}

#[tokio::test]
async fn a_session_that_is_not_good_counts_as_none_beside_a_good_one() {
    let dead = "__Host-rolegate=rgs_dead";
    let good = "__Host-rolegate=rgs_app_user";
    for cookies in [
        &[good, good][..],
        &[dead, good],
        &[good, dead],
        &[good, "__Host-rolegate="],
        &["__Host-rolegate", good],
        &["__Host-rolegate=rgk_admin", good],
        &[
            dead,
            "__Host-rolegate=rgs_1; __Host-rolegate=rgs_2",
            good,
            "__Host-rolegate=rgs_3",
        ],
    ] {
        let line = cookies.join("; ");
        let lines: Vec<_> = cookies.iter().map(|cookie| ("cookie", *cookie)).collect();
        for sent in [&[("cookie", &*line)][..], &lines] {
            for mode in [NAVIGATE, ("sec-fetch-mode", "cors")] {
                let headers = [sent, &[mode]].concat();
                let response = ask("/authorize", &headers).await;
                assert_eq!(identity(&response), ["2", "user", "user"], "{headers:?}");
                // The role of the valid session counts.
                let denied = read("/authorize?roles=admin", &headers).await;
                let reason = denied.header("rolegate-reason");
                assert_eq!((denied.status, reason), (403, "ROLE_INSUFFICIENT"));
                // The valid session allows no more than it does alone.
                let change = [
                    &[("x-forwarded-method", "POST")],
                    &FORWARDED[1..],
                    &headers[..],
                ]
                .concat();
                let refused = send_with(&[], bare("GET", "/authorize"), &change).await;
                refused.assert_reason("CROSS_SITE");
            }
        }
    }
    for cookies in [
        format!("{dead}; __Host-rolegate=rgs_1"),
        format!("{dead}; {dead}"),
    ] {
        let cookie = ("cookie", cookies.as_str());
        assert_led(&ask("/authorize", &[cookie, NAVIGATE]).await, PAGE);
        let program = ask("/authorize", &[cookie]).await;
        assert_denied_with(&program, 401, "Invalid or expired token.", 1);
    }
}

#[tokio::test]
async fn two_good_sessions_are_no_credential_and_a_person_is_told_so() {
    let two = "__Host-rolegate=rgs_app_user; a=b; __Host-rolegate=rgs_app_admin";
    let many: Vec<_> = (0..9)
        .map(|number| format!("__Host-rolegate=rgs_{number}"))
        .collect();
    let many = format!("__Host-rolegate=rgs_app_user; {}", many.join("; "));
    let with_dead = format!("{two}; __Host-rolegate=rgs_dead");
    for cookies in [two, &with_dead, &many] {
        let cookie = ("cookie", cookies);
        for path in [
            "/authorize",
            "/authorize?roles=admin",
            "/authorize?roles=user",
        ] {
            let led = ask(path, &[cookie, NAVIGATE]).await;
            assert_led(&led, &format!("{PAGE}&two_sessions"));
            for mode in [&[][..], &[("sec-fetch-mode", "no-cors")]] {
                let response = ask(path, &[&[cookie], mode].concat()).await;
                assert_denied_with(&response, 401, "Not authenticated.", 1);
                assert_eq!(response.header("www-authenticate"), "Bearer");
                assert_eq!(response.header("location"), "");
            }
            // The same holds if the proxy does not say the method.
            let origin = ("sec-fetch-site", "same-origin");
            for mode in [&[][..], &[NAVIGATE]] {
                let headers = [&[cookie, origin], mode].concat();
                let response = send_with(&[], bare("GET", path), &headers).await;
                assert_denied_with(&response, 401, "Not authenticated.", 1);
                assert_eq!(response.header("location"), "");
            }
        }
    }
}

#[tokio::test]
async fn a_form_that_was_sent_after_the_session_leads_back_to_its_page() {
    let referer = ("referer", "https://app.example.org/edit?a=b");
    let post = [&[("x-forwarded-method", "POST")], &FORWARDED[1..]].concat();
    let dead = ("cookie", "__Host-rolegate=rgs_dead");
    let own = ("sec-fetch-site", "same-origin");
    for cookie in [&[][..], &[dead, own]] {
        let sent = [&post[..], cookie, &[NAVIGATE, referer]].concat();
        let response = send_with(&[], bare("GET", "/authorize"), &sent).await;
        assert_led(&response, "/sign-in?return=%2Fedit%3Fa%3Db&unsaved");
        let sent = [&post[..], cookie, &[NAVIGATE]].concat();
        let response = send_with(&[], bare("GET", "/authorize"), &sent).await;
        assert_led(&response, "/sign-in?return=%2F&unsaved");
    }
}

#[tokio::test]
async fn credentials_beside_a_cookie_count_as_without_it() {
    for authorization in [
        "Bearer admin",
        "Bearer bad",
        "Bearer rgd_user",
        "Digest x",
        "",
        "Basic YTpi",
    ] {
        for path in [
            "/authorize?roles=admin",
            "/authorize?roles=x,",
            "/authorize?x",
        ] {
            let asked = async |settings: &[&str], headers: &[(&str, &str)]| {
                let request = authorized("GET", path, authorization);
                let mut response = send_with(settings, request, headers).await;
                response.headers.remove("x-request-id");
                // With a sign-in page, a navigation opens no dialog for a password.
                let challenges = response.headers.remove("www-authenticate");
                assert_eq!(challenges.is_some(), response.status == 401);
                (response.status, response.headers, response.body)
            };
            let with_cookie = [&FORWARDED[..], &[COOKIE, NAVIGATE]].concat();
            let expected = asked(&["--sign-in", "off"], &[]).await;
            assert_eq!(
                asked(&[], &with_cookie).await,
                expected,
                "{authorization} {path}"
            );
        }
    }
}

#[tokio::test]
async fn without_the_page_cookies_and_navigations_are_nothing() {
    for path in [
        "/authorize",
        "/authorize?redirect_status=401",
        "/authorize?roles=x,",
    ] {
        for cookie in [
            COOKIE,
            ("cookie", "__Host-rolegate=rgs_app_user; __Host-rolegate="),
        ] {
            let headers = [cookie, NAVIGATE, ("x-forwarded-method", "POST")];
            let response = send_with(&["--sign-in", "off"], bare("GET", path), &headers).await;
            assert_denied(&response, 401, "Not authenticated.");
            assert_eq!(response.header("location"), "");
        }
    }
}

#[tokio::test]
async fn a_session_for_a_domain_is_good_in_its_cookie_only() {
    let settings = [
        "--cookie-domain",
        "example.org",
        "--sign-in-url",
        "https://auth.example.org/sign-in",
    ];
    let ask = async |cookie: &str| {
        let headers = [&FORWARDED[..], &[("cookie", cookie)]].concat();
        send_with(&settings, bare("GET", "/authorize"), &headers).await
    };
    assert_eq!(
        identity(&ask("__Secure-rolegate=rgd_user").await),
        ["2", "user", "user"]
    );
    for cookie in [
        "__Host-rolegate=rgs_app_user",
        "__Secure-rolegate=rgs_app_user",
        "rolegate=rgd_user",
    ] {
        assert_denied(&ask(cookie).await, 401, "Not authenticated.");
    }
    let bearer = authorized("GET", "/authorize", "Bearer rgd_user");
    assert_denied(
        &send_with(&settings, bearer, &[]).await,
        401,
        "Invalid or expired token.",
    );
}

#[tokio::test]
async fn a_status_that_no_proxy_needs_is_refused() {
    let detail = "Query parameter \"redirect_status\" must be 303 or 401.";
    for value in ["", "200", "302", "401%20", "0401"] {
        let path = format!("/authorize?redirect_status={value}");
        assert_denied(&ask(&path, &[COOKIE]).await, 400, detail);
    }
    let detail = "Query parameter \"redirect_status\" is given more than once.";
    let twice = ask(
        "/authorize?redirect_status=401&redirect_status=401",
        &[COOKIE],
    )
    .await;
    assert_denied(&twice, 400, detail);
}

#[tokio::test]
async fn a_navigation_opens_no_dialog_where_there_is_a_page() {
    let accept = ("accept", "text/html,*/*;q=0.8");
    for person in [NAVIGATE, accept] {
        for (authorization, detail) in [
            ("Bearer bad", "Invalid or expired token."),
            ("Digest x", "Not authenticated."),
            ("", "Not authenticated."),
        ] {
            let request = || authorized("GET", "/authorize", authorization);
            let navigation = [&FORWARDED[..], &[person]].concat();
            let response = send_with(&[], request(), &navigation).await;
            assert_denied_with(&response, 401, detail, 1);
            // Without a sign-in page, or if the proxy was configured before there was one, people sign in by the
            // dialog.
            let response = send_with(&["--sign-in", "off"], request(), &navigation).await;
            assert_denied_with(&response, 401, detail, 2);
            let response = send_with(&[], request(), &[person]).await;
            assert_denied_with(&response, 401, detail, 2);
        }
    }
}

/// The browser would go on sending the outdated password until it is restarted.
#[tokio::test]
async fn an_outdated_password_that_the_browser_remembers_keeps_nobody_from_the_page() {
    let wrong = || authorized("GET", "/authorize", "Basic YW5uOndyb25n");
    let navigation = [&FORWARDED[..], &[NAVIGATE]].concat();
    assert_led(&send_with(&[], wrong(), &navigation).await, PAGE);
    let signed_in = [&navigation[..], &[COOKIE]].concat();
    let response = send_with(&[], wrong(), &signed_in).await;
    assert_eq!(identity(&response), ["2", "user", "user"]);
    // A person whom the cookie does not admit either learns what is wrong with the password.
    let denied = authorized("GET", "/authorize?roles=admin", "Basic YW5uOndyb25n");
    let denied = send_with(&[], denied, &signed_in).await;
    assert_denied_with(&denied, 401, "Invalid username or password.", 1);
    // A correct password is accepted. The wrong password of a program or a script is refused, so that it learns the
    // error.
    let right = authorized("GET", "/authorize", "Basic YW5uOnJpZ2h0");
    let response = send_with(&[], right, &signed_in).await;
    assert_ne!(identity(&response), ["2", "user", "user"]);
    let detail = "Invalid username or password.";
    for (mode, challenges) in [
        (("sec-fetch-mode", "cors"), 2),
        (("accept", "text/html"), 1),
    ] {
        let headers = [&FORWARDED[..], &[COOKIE, mode]].concat();
        let response = send_with(&[], wrong(), &headers).await;
        assert_denied_with(&response, 401, detail, challenges);
    }
    let response = send_with(&["--sign-in", "off"], wrong(), &signed_in).await;
    assert_denied_with(&response, 401, detail, 2);
    // A malformed or repeated password is none that a browser remembers.
    let malformed = authorized("GET", "/authorize", "Basic !");
    let response = send_with(&[], malformed, &signed_in).await;
    assert_denied_with(&response, 401, "Not authenticated.", 1);
    let twice = [&signed_in[..], &[("authorization", "Bearer user")]].concat();
    let response = send_with(&[], wrong(), &twice).await;
    assert_denied_with(&response, 401, "Not authenticated.", 1);
}

#[tokio::test]
async fn a_password_that_the_browser_remembers_is_good_for_no_change_by_another_site() {
    let right = "Basic YW5uOnJpZ2h0";
    let site = ("sec-fetch-site", "cross-site");
    let post = [("x-forwarded-method", "POST")];
    for settings in [&[][..], &["--sign-in", "off"]] {
        for mode in ["navigate", "no-cors", "websocket"] {
            for method in [&post[..], &[]] {
                let headers = [method, &[site, ("sec-fetch-mode", mode)]].concat();
                for authorization in [right, "Basic YW5uOndyb25n", "Basic Zmxvb2Q6eA=="] {
                    let request = authorized("GET", "/authorize", authorization);
                    let response = send_with(settings, request, &headers).await;
                    // The refusal comes before the password is checked or counted.
                    assert_denied(&response, 403, "Cross-site request.");
                    response.assert_reason("CROSS_SITE");
                }
                // A browser does not add a token by itself.
                let token = authorized("GET", "/authorize", "Bearer user");
                assert_eq!(send_with(settings, token, &headers).await.status, 200);
            }
        }
        for passes in [
            &[FORWARDED[0], site, NAVIGATE][..],
            &[post[0], site, ("sec-fetch-mode", "cors")],
            &[post[0], ("sec-fetch-site", "same-origin"), NAVIGATE],
            &[post[0], ("sec-fetch-site", "none"), NAVIGATE],
            &post,
        ] {
            let request = authorized("GET", "/authorize", right);
            let response = send_with(settings, request, passes).await;
            assert_eq!(response.status, 200, "{passes:?}");
        }
        let introspection = authorized("POST", "/introspect", right);
        let response = send_with(settings, introspection, &[site, NAVIGATE]).await;
        assert_denied(&response, 403, "Cross-site request.");
    }
}

/// The address for applications that use `Authorization` themselves.
const COOKIE_ONLY: &str = "/authorize?credentials=cookie";

#[tokio::test]
async fn where_only_the_cookie_counts_authorization_says_nothing() {
    for authorization in [
        "Bearer admin",
        "Bearer rgk_admin",
        "Basic YW5uOnJpZ2h0",
        "Basic YW5uOndyb25n",
        "Digest x",
        "",
    ] {
        for (path, cookie, expected) in [
            (COOKIE_ONLY, COOKIE, ["2", "user", "user"]),
            (
                "/authorize?credentials=cookie&roles=user",
                COOKIE,
                ["2", "user", "user"],
            ),
        ] {
            let request = authorized("GET", path, authorization);
            let passed = send_with(&[], request, &[&FORWARDED[..], &[cookie]].concat()).await;
            assert_eq!(identity(&passed), expected, "{authorization}");
        }
        let other_role = "/authorize?roles=admin&credentials=cookie";
        let request = authorized("GET", other_role, authorization);
        let denied = send_with(&[], request, &[&FORWARDED[..], &[COOKIE]].concat()).await;
        assert_denied(&denied, 403, "Insufficient privileges.");
        // Without a session, a program learns that Rolegate requires one, and a person is redirected to the page.
        for settings in [&[][..], &["--sign-in", "off"]] {
            let request = authorized("GET", COOKIE_ONLY, authorization);
            let refused = send_with(settings, request, &FORWARDED).await;
            assert_denied_with(&refused, 401, "Not authenticated.", 1);
            assert_eq!(refused.header("www-authenticate"), "Bearer");
        }
        let request = authorized("GET", COOKIE_ONLY, authorization);
        let led = send_with(&[], request, &[&FORWARDED[..], &[NAVIGATE]].concat()).await;
        assert_led(&led, PAGE);
    }
}

#[tokio::test]
async fn where_only_the_cookie_counts_a_change_needs_a_page_of_the_application() {
    let change = [&FORWARDED[1..], &[("x-forwarded-method", "POST"), COOKIE]].concat();
    for authorization in ["Bearer admin", "Basic YW5uOnJpZ2h0"] {
        let request = authorized("GET", COOKIE_ONLY, authorization);
        let denied = send_with(&[], request, &change).await;
        assert_denied(&denied, 403, "Cross-site request.");
        let request = authorized("GET", COOKIE_ONLY, authorization);
        let own = [&change[..], &[("sec-fetch-site", "same-origin")]].concat();
        assert_eq!(send_with(&[], request, &own).await.status, 200);
    }
}

#[tokio::test]
async fn other_credentials_than_the_cookie_cannot_be_chosen() {
    let detail = "Query parameter \"credentials\" must be cookie.";
    for value in [
        "",
        "Cookie",
        "cookies",
        "bearer",
        "authorization",
        "cookie,basic",
        "cookie%20",
    ] {
        for authorization in ["Bearer admin", ""] {
            let path = format!("/authorize?credentials={value}");
            let request = authorized("GET", &path, authorization);
            let refused = send_with(&[], request, &[&FORWARDED[..], &[COOKIE]].concat()).await;
            assert_denied(&refused, 400, detail);
            refused.assert_reason("QUERY_INVALID");
        }
    }
    let twice = ask(
        "/authorize?credentials=cookie&credentials=cookie",
        &[COOKIE],
    )
    .await;
    let detail = "Query parameter \"credentials\" is given more than once.";
    assert_denied(&twice, 400, detail);
}
