mod account;
mod brand;
mod console_cookie;
mod one_time_code;
mod refused;
mod set_password;
mod sign_out;
mod texts;

use super::account::SIGN_IN_FILES;
use crate::{
    basic, bearer, logo,
    memory::MemoryBudgets,
    settings::Settings,
    state::GatewayState,
    test_support::{
        Calls, File, auth_service, bare, fetch, send, shared_auth_service, sign_in, time,
    },
};
use auth_fixture::credential_name;
use axum::{Router, body::Body, extract::ConnectInfo};
use http::{HeaderValue, Request, header::HeaderName};
use rolegate_auth_client::{
    AuthClient,
    auth_v1::{CreateSessionRequest, CreateSessionResponse, RevokeTokensRequest},
};
use std::net::SocketAddr;

/// The length of the prefix of a token, such as `rgs_`.
const PREFIX_LENGTH: usize = 4;
const FORM: &str = "username=ann&password=right";
const SAME_ORIGIN: (&str, &str) = ("sec-fetch-site", "same-origin");
const LOOPBACK: (&str, &str) = ("host", "localhost:8000");
const HTTPS: (&str, &str) = ("x-forwarded-proto", "https");
const MARK: (&str, &str) = ("rolegate-page", "application");
const FORM_TYPE: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const DOMAIN: [&str; 4] = [
    "--cookie-domain",
    "example.org",
    "--sign-in-url",
    "https://auth.example.org/sign-in",
];

fn gateway(arguments: &[&str]) -> (Router, Calls) {
    let (auth, calls) = auth_service();
    calls.edit("CreateSession", answer_fixed_session);
    (router(arguments, auth), calls)
}

fn router(arguments: &[&str], auth: AuthClient) -> Router {
    let settings = Settings::from_args(arguments).expect("settings").public;
    let logo = logo::load(settings.sign_in_logo_file.as_deref()).expect("a picture");
    let defaults = Settings::from_args(&[]).expect("defaults").sign_in;
    let state = GatewayState::new(auth, sign_in(arguments), defaults, logo);
    let memory = MemoryBudgets::new(&settings);
    bearer::router(state, None, &settings, &memory)
}

/// Replaces the tokens of new sessions by names with the same prefix, and their times.
fn answer_fixed_session(created: &mut CreateSessionResponse) {
    let Some(session) = &mut created.session else {
        return;
    };
    session.created_at = time(1);
    session.idle_expires_at = time(2);
    session.expires_at = time(3);
    created.token.replace_range(PREFIX_LENGTH.., "user");
    if let Some(token) = &mut created.application_token {
        token.replace_range(PREFIX_LENGTH.., "application");
    }
}

/// Returns the cookies of each call that ends sessions, and whether the sessions that were created together with them
/// stay.
fn ended_sessions(calls: &Calls) -> Vec<String> {
    let requests: Vec<RevokeTokensRequest> = calls.requests("RevokeTokens");
    let describe = |request: RevokeTokensRequest| {
        assert_eq!(request.user_id, None);
        let tokens = request.cookie_sessions.iter();
        let names: Vec<_> = tokens.map(|token| credential_name(token)).collect();
        let alone = if names.is_empty() || request.with_pairs {
            ""
        } else {
            " alone"
        };
        names.join(" ") + alone
    };
    requests.into_iter().map(describe).collect()
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let mut request = bare(method, path);
    *request.body_mut() = body.to_owned().into();
    request.headers_mut().remove("host");
    for (name, value) in headers {
        let name: HeaderName = name.parse().expect("a name");
        request
            .headers_mut()
            .append(name, HeaderValue::from_str(value).expect("a value"));
    }
    request
}

/// Returns a form that a page of Rolegate sends, on loopback.
fn form(path: &str, body: &str) -> Request<Body> {
    request("POST", path, &[LOOPBACK, SAME_ORIGIN, FORM_TYPE], body)
}

/// Returns a gateway for requests that change nothing.
fn reading_gateway(arguments: &[&str]) -> Router {
    router(arguments, shared_auth_service())
}

async fn get(path: &str, headers: &[(&str, &str)]) -> File {
    fetch(&reading_gateway(&[]), request("GET", path, headers, "")).await
}

fn cookies(response: &File) -> Vec<&str> {
    let values = response.headers.get_all("set-cookie").iter();
    values
        .map(|value| value.to_str().expect("visible ASCII"))
        .collect()
}

#[tokio::test]
async fn pages_have_a_strict_policy_and_no_script() {
    for path in [
        "/sign-in",
        "/sign-in?return=/a",
        "/sign-out",
        "/sign-out?return=/a",
    ] {
        let page = get(path, &[LOOPBACK]).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, "text/html; charset=utf-8")
        );
        // Browsers would apply `form-action` to the redirects of an application as well.
        let policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
        assert_eq!(page.header("content-security-policy"), policy);
        assert_eq!(page.header("cache-control"), "no-store");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        // An application may open the page in a window.
        assert_eq!(page.header("cross-origin-opener-policy"), "");
        // With another policy, browsers without Fetch Metadata would send `Origin: null`.
        assert_eq!(page.header("referrer-policy"), "same-origin");
        assert!(page.headers.get("set-cookie").is_none());
        assert!(
            !page.text.contains("<script") && !page.text.contains("style="),
            "{}",
            page.text
        );
        for file in ["base.css", "sign_in.css", "logo"] {
            let file = format!("\"/sign-in/{file}\"");
            assert!(page.text.contains(&file), "{file}: {}", page.text);
        }
        // With an `action`, browsers would lose the fragment of the address.
        let form = if path.starts_with("/sign-in") {
            r#"<form method="post">"#
        } else {
            r#"<form method="post" action="/sign-out">"#
        };
        assert!(page.text.contains(form), "{}", page.text);
    }
    let page = get("/sign-in", &[LOOPBACK]).await;
    for part in [
        "<title>Sign in · Rolegate</title>",
        r#"<label>Username<input name="username" value="" autocomplete="username""#,
        r#"<label>Password<input name="password" type="password" autocomplete="current-password""#,
        r#"<button class="primary">Sign in</button>"#,
        r#"<html lang="en">"#,
        r#"name="viewport""#,
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
}

#[tokio::test]
async fn files_of_the_pages_are_served_below_sign_in() {
    for (file, media_type) in
        SIGN_IN_FILES
            .iter()
            .zip(["text/css", "image/svg", "text/css", "text/javascript"])
    {
        let response = get(&format!("/sign-in/{file}"), &[LOOPBACK]).await;
        assert_eq!(response.status, 200, "{file}");
        assert!(
            response.header("content-type").starts_with(media_type),
            "{file}"
        );
    }
    let router = reading_gateway(&[]);
    for path in [
        "/sign-in/",
        "/sign-in/main.js",
        "/sign-in/index.html",
        "/sign-out/",
        "/sign-on",
    ] {
        send(&router, bare("GET", path))
            .await
            .assert_error(404, "Not Found");
    }
    for path in ["/sign-in", "/sign-out"] {
        let response = send(&router, bare("DELETE", path)).await;
        response.assert_error(405, "Method Not Allowed");
        assert_eq!(response.header("allow"), "GET,HEAD,POST");
    }
}

#[tokio::test]
async fn a_valid_return_address_is_in_the_form_and_any_other_is_not() {
    let origins = ["--return-origins", "https://app.example.org"];
    let router = reading_gateway(&origins);
    for (given, kept) in [
        ("/a%3Fb%3Dc%26d", "/a?b=c&amp;d"),
        ("https://app.example.org/a", "https://app.example.org/a"),
        ("/%22%3E%3Cscript%3E", "/%22%3E%3Cscript%3E"),
        ("/%3F%27", "/?%27"),
        ("/%23%27", "/#&#39;"),
        ("https://evil.example/", ""),
        ("//evil.example", ""),
        ("javascript:alert(1)", ""),
        ("", ""),
    ] {
        for path in ["/sign-in", "/sign-out"] {
            let path = format!("{path}?return={given}");
            let page = fetch(&router, request("GET", &path, &[LOOPBACK], "")).await;
            let field = format!(r#"<input type="hidden" name="return" value="{kept}">"#);
            assert!(page.text.contains(&field), "{given}: {}", page.text);
        }
    }
    for path in [
        "/sign-in?return=/a&return=/a",
        "/sign-out?return=/a&return=/b",
    ] {
        let response = send(&router, request("GET", path, &[LOOPBACK], "")).await;
        response.assert_error(400, "Query parameter \"return\" is given more than once.");
    }
}

#[tokio::test]
async fn without_encryption_there_is_no_form_and_no_sign_in() {
    const PROTO: &str = "x-forwarded-proto";
    let (router, calls) = gateway(&[]);
    let ask = "Open this page at an address that begins with https://.";
    let explain = "X-Forwarded-Proto must be https.";
    for (insecure, hint) in [
        (&[("host", "example.org")][..], ask),
        (&[("host", "10.0.0.1:8000")], ask),
        (&[("host", "localhost.example.org")], ask),
        (&[("host", "example.org"), (PROTO, "http")], ask),
        (&[("host", "example.org"), (PROTO, "HTTP, http")], ask),
        (&[("host", "example.org"), (PROTO, "https, http")], explain),
        (&[("host", "example.org"), HTTPS, (PROTO, "http")], explain),
        (&[("host", "example.org"), (PROTO, "")], explain),
        // Without the header, the page would have the form, because a host on loopback needs no encryption.
        (&[LOOPBACK, (PROTO, "https, http")], explain),
        (&[LOOPBACK, (PROTO, "ftp")], explain),
        (&[("host", ""), HTTPS], ask),
    ] {
        for path in ["/sign-in", "/set-password"] {
            let page = fetch(&router, request("GET", path, insecure, "")).await;
            assert_eq!(page.status, 200);
            let is_refused = page.text.contains("Signing in needs HTTPS.");
            assert!(is_refused, "{insecure:?}: {}", page.text);
            assert!(page.text.contains(hint), "{insecure:?}: {}", page.text);
            assert!(!page.text.contains("<form"), "{}", page.text);
        }
        let headers = [insecure, &[SAME_ORIGIN, FORM_TYPE]].concat();
        let response = fetch(&router, request("POST", "/sign-in", &headers, FORM)).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, "/sign-in")
        );
        assert!(cookies(&response).is_empty());
    }
    assert!(calls.all().is_empty());
    for safe in [
        &[LOOPBACK][..],
        &[("host", "127.0.0.1:8000")],
        &[("host", "example.org"), HTTPS],
        &[("host", "example.org"), HTTPS, HTTPS],
        &[("host", "example.org"), (PROTO, "HTTPS")],
        &[("host", "example.org"), (PROTO, "https,https")],
    ] {
        assert!(
            get("/sign-in", safe).await.text.contains("<form"),
            "{safe:?}"
        );
    }
}

#[tokio::test]
async fn no_other_page_signs_its_visitors_in_or_out_or_makes_them_guess() {
    let (router, calls) = gateway(&["--return-origins", "https://app.example.org"]);
    let own = [("host", "auth.example.org"), HTTPS, FORM_TYPE];
    for path in ["/sign-in", "/sign-out"] {
        for others in [
            &[][..],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("sec-fetch-site", "")],
            &[("sec-fetch-site", "Same-Origin")],
            &[SAME_ORIGIN, ("sec-fetch-site", "cross-site")],
            &[SAME_ORIGIN, SAME_ORIGIN],
            &[
                ("sec-fetch-site", "cross-site"),
                ("origin", "https://auth.example.org"),
            ],
            &[("origin", "https://evil.example")],
            &[("origin", "https://app.example.org")],
            &[("origin", "http://auth.example.org")],
            &[("origin", "https://auth.example.org:8443")],
            &[("origin", "https://auth.example.org.evil.example")],
            &[
                ("origin", "https://auth.example.org"),
                ("origin", "https://auth.example.org"),
            ],
            &[("origin", "null")],
            &[("origin", "")],
            &[("referer", "https://auth.example.org/sign-in")],
        ] {
            let headers = [&own[..], others].concat();
            // The form is refused before its body is read, which would be refused, too.
            for body in [FORM, "username=%ff"] {
                let response = send(&router, request("POST", path, &headers, body)).await;
                response.assert_error(403, "Cross-site request.");
                response.assert_reason("CROSS_SITE");
                assert!(response.headers.get("set-cookie").is_none());
            }
        }
        for ours in [
            &[SAME_ORIGIN][..],
            &[("origin", "https://auth.example.org")],
        ] {
            let headers = [&own[..], ours].concat();
            let response = fetch(&router, request("POST", path, &headers, FORM)).await;
            assert_eq!(response.status, 303, "{path} {ours:?}");
        }
    }
    let methods = calls.methods();
    assert_eq!(methods.len(), 2, "{methods:?}");
}

#[tokio::test]
async fn malformed_forms_get_the_errors_of_the_api() {
    let (router, calls) = gateway(&[]);
    let once = |name| format!("Field \"{name}\" must be given exactly once.");
    for (body, detail) in [
        ("", once("username")),
        ("username=ann", once("password")),
        ("password=right", once("username")),
        ("username=ann&username=ann&password=right", once("username")),
        (
            "username=ann&password=right&password=right",
            once("password"),
        ),
        ("username=ann;password=right", once("password")),
        (
            "%75sername=ann&username=bob&password=right",
            once("username"),
        ),
    ] {
        let response = send(&router, form("/sign-in", body)).await;
        response.assert_error(400, &detail);
        response.assert_reason("FIELD_INVALID");
    }
    for path in ["/sign-in", "/sign-out"] {
        let body = format!("{FORM}&return=/&return=/");
        let response = send(&router, form(path, &body)).await;
        response.assert_error(400, "Field \"return\" is given more than once.");
        let response = send(&router, form(path, "username=%ff&password=right")).await;
        response.assert_error(400, "Request body is not valid UTF-8.");
        let response = send(
            &router,
            form(path, &format!("{FORM}&x={}", "x".repeat(70_000))),
        )
        .await;
        response.assert_error(413, "Request body too large.");
        for content_type in [
            &[("content-type", "application/json")][..],
            &[],
            &[FORM_TYPE, FORM_TYPE],
        ] {
            let headers = [&[LOOPBACK, SAME_ORIGIN], content_type].concat();
            let response = send(&router, request("POST", path, &headers, FORM)).await;
            let detail = "Content-Type must be application/x-www-form-urlencoded.";
            response.assert_error(415, detail);
        }
    }
    // The fields may not be in the URL either.
    let response = send(&router, form(&format!("/sign-in?{FORM}"), "")).await;
    response.assert_error(400, &once("username"));
    assert!(calls.all().is_empty());
}

#[tokio::test]
async fn refusals_are_on_the_page_with_their_status_and_headers() {
    let router = reading_gateway(&[]);
    for (username, status, reason, retry_after, text) in [
        (
            "ann",
            401,
            "CREDENTIALS_INVALID",
            "",
            "Invalid username or password.",
        ),
        (
            "flood",
            429,
            "TOO_MANY_ATTEMPTS",
            "7",
            "Too many attempts, try again later. You can try again in 7 s.",
        ),
        (
            "down",
            503,
            "UPSTREAM_UNAVAILABLE",
            "1",
            "Service temporarily unavailable.",
        ),
    ] {
        let body = format!("username={username}&password=hunter%3C2&return=%2Fa%3Fb");
        let response = fetch(&router, form("/sign-in", &body)).await;
        assert_eq!(response.status, status, "{username}");
        assert_eq!(response.header("rolegate-reason"), reason);
        assert_eq!(response.header("retry-after"), retry_after);
        assert_eq!(response.header("content-type"), "text/html; charset=utf-8");
        assert!(
            response
                .header("content-security-policy")
                .starts_with("default-src 'none';")
        );
        assert_eq!(response.header("cache-control"), "no-store");
        assert!(cookies(&response).is_empty());
        // A person who reads the problem types the password next, so the field has the focus.
        let focus = r#"autocomplete="current-password" required autofocus>"#;
        assert!(response.text.contains(focus), "{}", response.text);
        let alert = format!(r#"<p class="message error" role="alert">{text}</p>"#);
        assert!(response.text.contains(&alert), "{}", response.text);
        let again = format!(r#"<input name="username" value="{username}" "#);
        assert!(response.text.contains(&again), "{}", response.text);
        assert!(
            response.text.contains(r#"name="return" value="/a?b""#),
            "{}",
            response.text
        );
        assert!(!response.text.contains("hunter"), "{}", response.text);
    }
}

#[tokio::test]
async fn username_is_shown_again_as_text_and_only_if_it_may_be_one() {
    let router = reading_gateway(&[]);
    let body = "username=%22+autofocus+onfocus%3D'a%26b'%3E%3Cb%3E&password=wrong";
    let page = fetch(&router, form("/sign-in", body)).await.text;
    let shown = r#"value="&quot; autofocus onfocus=&#39;a&amp;b&#39;&gt;&lt;b&gt;" "#;
    assert!(page.contains(shown), "{page}");
    let long = format!("username={}&password=wrong", "x".repeat(256));
    let page = fetch(&router, form("/sign-in", &long)).await.text;
    assert!(
        page.contains(r#"name="username" value="" "#) && !page.contains("xx"),
        "{page}"
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn cookie_is_that_of_the_place_where_the_sign_in_leads() {
    let attributes = "HttpOnly; Secure; SameSite=Lax";
    let host = format!("__Host-rolegate=rgs_user; Path=/; Max-Age=2; {attributes}");
    let console = format!("__Host-rolegate-console=rgs_user; Path=/; Max-Age=2; {attributes}");
    let domain =
        format!("__Secure-rolegate=rgd_user; Path=/; Domain=example.org; Max-Age=2; {attributes}");
    let plain = "rolegate=rgs_user; Path=/; Max-Age=2; HttpOnly; SameSite=Lax";
    let plain_console = "rolegate-console=rgs_user; Path=/; Max-Age=2; HttpOnly; SameSite=Lax";
    let auth = [("host", "auth.example.org"), HTTPS];
    let app = [("host", "app.example.org"), HTTPS];
    let marked = [("host", "app.example.org"), HTTPS, MARK];
    let marked_auth = [("host", "auth.example.org"), HTTPS, MARK];
    let loopback = [LOOPBACK];
    let marked_loopback = [LOOPBACK, MARK];
    let forwarded_loopback = [LOOPBACK, ("x-forwarded-for", "203.0.113.9")];
    let named_page = ["--sign-in-url", "https://auth.example.org/sign-in"];
    let with_origins = [&DOMAIN[..], &["--return-origins", "https://*.example.org"]].concat();
    let no_console = ["--console", "off"];
    let of_application = |line: &str| line.replace("=rgs_user", "=rgs_application");
    let host_beside = of_application(&host);
    let plain_beside = of_application(plain);
    let domain_beside = domain.replace("rgd_user", "rgd_application");
    // The cookie that people need at the destination comes first.
    let both = [&console, &host_beside];
    let both_for_application = [&host_beside, &console];
    let both_plain = [plain_console, &plain_beside];
    let both_plain_for_application = [&plain_beside, plain_console];
    let both_of_domain = [&console, &domain_beside];
    let both_of_domain_for_application = [&domain_beside, &console];
    for (arguments, at, back, location, expected) in [
        // This proxy does not mark the hosts of applications, so its hosts get no more cookies than before.
        (&[][..], &app[..], "/a", "/a", vec![host.as_str()]),
        (&[], &app, "", "/", vec![&host]),
        (&[], &app, "https://evil.example/", "/", vec![&host]),
        (&[], &app, "/consoles", "/consoles", vec![&host]),
        (&[], &app, "/accounts", "/accounts", vec![&host]),
        (&[], &forwarded_loopback, "/a", "/a", vec![plain]),
        (&DOMAIN, &app, "/a", "/a", vec![&domain]),
        // The destination is a page that uses the console's cookie.
        (
            &[],
            &app,
            "/console/%23/users",
            "/console/#/users",
            both.map(String::as_str).to_vec(),
        ),
        (
            &[],
            &app,
            "/console",
            "/console",
            both.map(String::as_str).to_vec(),
        ),
        (
            &[],
            &app,
            "/account",
            "/account",
            both.map(String::as_str).to_vec(),
        ),
        (
            &[],
            &app,
            "/account/keys?a",
            "/account/keys?a",
            both.map(String::as_str).to_vec(),
        ),
        (
            &DOMAIN,
            &auth,
            "/account",
            "/account",
            both_of_domain.map(String::as_str).to_vec(),
        ),
        (
            &[],
            &loopback,
            "/console/",
            "/console/",
            both_plain.to_vec(),
        ),
        // The form is at the host of `SIGN_IN_URL`.
        (
            &DOMAIN,
            &auth,
            "/a",
            "/a",
            both_of_domain_for_application.map(String::as_str).to_vec(),
        ),
        (
            &DOMAIN,
            &auth,
            "",
            "/",
            both_of_domain_for_application.map(String::as_str).to_vec(),
        ),
        (
            &DOMAIN,
            &auth,
            "https://app.example.org/a",
            "/",
            both_of_domain_for_application.map(String::as_str).to_vec(),
        ),
        (
            &with_origins,
            &auth,
            "https://app.example.org/a",
            "https://app.example.org/a",
            both_of_domain_for_application.map(String::as_str).to_vec(),
        ),
        (
            &with_origins,
            &auth,
            "https://app.example.org/console/",
            "https://app.example.org/console/",
            both_of_domain_for_application.map(String::as_str).to_vec(),
        ),
        (
            &named_page,
            &auth,
            "/a",
            "/a",
            both_for_application.map(String::as_str).to_vec(),
        ),
        (&named_page, &app, "/a", "/a", vec![&host]),
        // No proxy passed the form on.
        (
            &[],
            &loopback,
            "/a",
            "/a",
            both_plain_for_application.to_vec(),
        ),
        (&[], &loopback, "", "/", both_plain_for_application.to_vec()),
        (
            &DOMAIN,
            &loopback,
            "/a",
            "/a",
            both_plain_for_application.to_vec(),
        ),
        // An application may have pages at the same paths as Rolegate.
        (&[], &marked, "/console/", "/console/", vec![&host]),
        (&[], &marked, "/account", "/account", vec![&host]),
        (&[], &marked, "", "/", vec![&host]),
        (&[], &marked_loopback, "/account", "/account", vec![plain]),
        (&DOMAIN, &marked_auth, "/account", "/account", vec![&domain]),
        (
            &named_page,
            &marked_auth,
            "/account",
            "/account",
            vec![&host],
        ),
        // The account page uses the console's cookie, too.
        (
            &no_console,
            &loopback,
            "/account",
            "/account",
            both_plain.to_vec(),
        ),
    ] {
        let headers = [at, &[SAME_ORIGIN, FORM_TYPE]].concat();
        let body = format!("{FORM}&return={back}");
        let request = request("POST", "/sign-in", &headers, &body);
        let (router, calls) = gateway(arguments);
        let response = fetch(&router, request).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, location),
            "{back}"
        );
        assert_eq!(cookies(&response), expected, "{arguments:?} {at:?} {back}");
        // Each cookie has a session of its own, which counts nowhere else. One call creates both.
        let is_pair = expected.len() == 2;
        let for_domain = expected.concat().contains("rgd_");
        let requests: Vec<CreateSessionRequest> = calls.requests("CreateSession");
        let call = CreateSessionRequest {
            for_domain,
            for_application: !is_pair && !for_domain,
            with_application: is_pair,
            username: "ann".to_owned(),
            password: "right".to_owned(),
            place: requests[0].place.clone(),
            ..CreateSessionRequest::default()
        };
        assert_eq!(requests, [call], "{arguments:?} {back}");
        assert_eq!(calls.methods().len(), 1, "{arguments:?} {back}");
        assert_eq!(response.header("cache-control"), "no-store");
    }
}

/// A proxy may pass requests on without saying so in a header.
#[tokio::test]
async fn address_that_a_trusted_proxy_asks_is_not_that_of_the_gateway_itself() {
    for (trusted, peer, set) in [
        ("127.0.0.1/32", "127.0.0.1:4000", 1),
        ("127.0.0.1/32", "[::ffff:127.0.0.1]:4000", 1),
        ("127.0.0.1/32", "127.0.0.2:4000", 2),
        ("10.0.0.0/8", "127.0.0.1:4000", 2),
    ] {
        let (router, _) = gateway(&["--trusted-proxies", trusted]);
        let mut request = form("/sign-in", &format!("{FORM}&return=/a"));
        let peer: SocketAddr = peer.parse().expect("an address");
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = fetch(&router, request).await;
        assert_eq!(cookies(&response).len(), set, "{trusted} {peer}");
    }
}

#[tokio::test]
async fn the_address_of_the_form_counts_and_that_of_the_query_where_it_is_missing() {
    let (router, _) = gateway(&[]);
    for (query, field, location) in [
        ("?return=/a", "", "/a"),
        ("?return=/a", "&return=/b", "/b"),
        ("?return=/a", "&return=", "/"),
        ("?return=/a&return=/b", "&return=/c", "/c"),
        ("?return=https://evil.example/", "", "/"),
        ("?return=%2F%2Fevil.example", "", "/"),
        ("?return=/account", "", "/account"),
        ("?unsaved&x", "", "/"),
        ("", "", "/"),
    ] {
        let request = form(&format!("/sign-in{query}"), &format!("{FORM}{field}"));
        let response = fetch(&router, request).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, location),
            "{query} {field}"
        );
        // The button to go on redirects to the same address, without a password or a new cookie.
        let request = form(&format!("/sign-in{query}"), &format!("go_on={field}"));
        let response = fetch(&router, request).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, location),
            "{query} {field}"
        );
        assert!(cookies(&response).is_empty());
    }
    for query in ["?return=/a&return=/b", "?return=%ff", "?x=%ff"] {
        let response = send(&router, form(&format!("/sign-in{query}"), FORM)).await;
        response.assert_reason("QUERY_INVALID");
    }
}

#[tokio::test]
async fn page_has_the_username_of_its_query_as_text() {
    let too_long = format!("/sign-in?username={}", "a".repeat(256));
    for (path, value) in [
        ("/sign-in?username=ada", "ada"),
        ("/sign-in?username=ada&return=/a", "ada"),
        ("/sign-in?username=b%C3%A9a%20%26%20co", "béa &amp; co"),
        (
            "/sign-in?username=%22%3E%3Cscript%3E",
            "&quot;&gt;&lt;script&gt;",
        ),
        ("/sign-in?username=", ""),
        ("/sign-in?Username=ada", ""),
        (&too_long, ""),
    ] {
        let shown = get(path, &[LOOPBACK]).await.text;
        let field = format!(r#"name="username" value="{value}""#);
        assert!(shown.contains(&field), "{path}: {shown}");
    }
    let twice = get("/sign-in?username=a&username=b", &[LOOPBACK]).await;
    assert_eq!(twice.status, 400, "{}", twice.text);
}

#[tokio::test]
async fn page_says_what_happened_on_the_way_there_and_nothing_that_is_not_known() {
    let unsaved = r#"<p class="message">What you sent was not saved.</p>"#;
    let too_long = "is too long to return to.";
    let twice = "This browser sent two sign-ins";
    let long = format!("/sign-in?return=/{}", "a".repeat(2048));
    for (path, expected) in [
        ("/sign-in", &[][..]),
        ("/sign-in?return=/unsaved", &[]),
        ("/sign-in?Unsaved&notice=unsaved", &[]),
        ("/sign-in?return=/a&unsaved", &[unsaved]),
        ("/sign-in?unsaved=%3Cb%3Einjected%3C/b%3E", &[unsaved]),
        ("/sign-in?unsaved&unsaved", &[unsaved]),
        ("/sign-in?return=%2F&too_long", &[too_long]),
        ("/sign-in?return=%2F&too_long&unsaved", &[too_long, unsaved]),
        ("/sign-in?return=/a&two_sessions", &[twice]),
        (&long, &[too_long]),
        ("/sign-out?unsaved&too_long&two_sessions", &[]),
    ] {
        let shown = get(path, &[LOOPBACK]).await.text;
        for text in [unsaved, too_long, twice] {
            assert_eq!(
                shown.contains(text),
                expected.contains(&text),
                "{path}: {shown}"
            );
        }
        assert!(!shown.contains("injected"), "{shown}");
    }
    // The notices are there again after a wrong password, because the form is sent to the same address.
    let router = gateway(&[]).0;
    let wrong = form(
        "/sign-in?return=/a&unsaved",
        "username=ann&password=wrong&return=/a",
    );
    let response = fetch(&router, wrong).await;
    assert_eq!(response.status, 401);
    assert!(response.text.contains(unsaved), "{}", response.text);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn page_names_the_person_whose_session_a_sign_in_would_replace() {
    let app = [("host", "app.example.org"), HTTPS];
    let auth = [("host", "auth.example.org"), HTTPS];
    for (arguments, at, path, cookie, name) in [
        (
            &[][..],
            &app[..],
            "/sign-in?return=/a",
            "__Host-rolegate=rgs_app_user",
            "user",
        ),
        (
            &[],
            &app,
            "/sign-in",
            "__Host-rolegate=rgs_app_user",
            "user",
        ),
        (
            &[],
            &app,
            "/sign-in?return=/a",
            "__Host-rolegate=rgs_dead; __Host-rolegate=rgs_app_admin",
            "admin",
        ),
        (
            &[],
            &app,
            "/sign-in?return=/account",
            "__Host-rolegate-console=rgs_admin; __Host-rolegate=rgs_app_user",
            "admin",
        ),
        (
            &[],
            &app,
            "/sign-in?return=/a",
            "__Host-rolegate-console=rgs_admin; __Host-rolegate=rgs_app_user",
            "user",
        ),
        (
            &DOMAIN,
            &auth,
            "/sign-in?return=/a",
            "__Secure-rolegate=rgd_user",
            "user",
        ),
        // A sign-in here would replace none of these sessions.
        (&[], &app, "/sign-in?return=/a", "", ""),
        (
            &[],
            &app,
            "/sign-in?return=/a",
            "__Host-rolegate=rgs_dead",
            "",
        ),
        (
            &[],
            &app,
            "/sign-in?return=/a",
            "__Host-rolegate-console=rgs_admin",
            "",
        ),
        (
            &[],
            &app,
            "/sign-in?return=/account",
            "__Host-rolegate=rgs_app_user",
            "",
        ),
        (
            &[],
            &app,
            "/sign-in?return=/a",
            "__Host-rolegate=rgs_app_user; __Host-rolegate=rgs_app_admin",
            "",
        ),
        (&[], &app, "/sign-in?return=/a", "rolegate=rgs_app_user", ""),
        (
            &[],
            &app,
            "/sign-in?return=/a",
            "__Host-rolegate=rgk_user",
            "",
        ),
        // The session cannot be checked.
        (
            &[],
            &app,
            "/sign-in?return=/a",
            "__Host-rolegate=rgs_down",
            "",
        ),
        (
            &[],
            &app,
            "/sign-in?return=/a",
            "__Host-rolegate=rgs_app_user; __Host-rolegate=rgs_down",
            "",
        ),
    ] {
        let router = reading_gateway(arguments);
        let headers = [at, &[("cookie", cookie)]].concat();
        let response = fetch(&router, request("GET", path, &headers, "")).await;
        assert_eq!((response.status, cookies(&response).len()), (200, 0));
        let sentence = format!(
            "You are signed in as <strong>{name}</strong>: <button class=\"link\" form=\"go-on\" name=\"go_on\">go on</button>, or sign in as \
             somebody else."
        );
        assert_eq!(
            response.text.contains(&sentence),
            !name.is_empty(),
            "{cookie}: {}",
            response.text
        );
        assert_eq!(
            response.text.contains("You are"),
            !name.is_empty(),
            "{cookie}"
        );
        assert!(
            response.text.contains(r#"name="username""#),
            "the form is there"
        );
        // A person who may go on finds that button first.
        assert_eq!(
            response.text.contains("autofocus"),
            name.is_empty(),
            "{cookie}"
        );
    }
}

#[tokio::test]
async fn sign_in_to_one_of_two_cookies_leaves_the_person_of_the_other_alone() {
    for (back, cookie, set) in [
        ("/console/", "rolegate=rgs_admin", 1),
        (
            "/console/",
            "rolegate=rgs_admin; rolegate-console=rgs_user",
            1,
        ),
        ("/console/", "rolegate=rgs_dead; rolegate=rgs_admin", 1),
        // The other session of the same sign-in has ended, too: a second person signs in here.
        (
            "/console/",
            "rolegate=rgs_other; rolegate-console=rgs_user",
            2,
        ),
        (
            "/console/",
            "rolegate=rgs_user; rolegate-console=rgs_user",
            2,
        ),
        ("/console/", "rolegate-console=rgs_user", 2),
        // If two sessions are valid, neither can be used.
        ("/console/", "rolegate=rgs_admin; rolegate=rgs_user", 2),
        ("/console/", "rolegate=rgs_other; rolegate=rgs_another", 2),
        ("/console/", "a=b", 2),
        ("/a", "rolegate-console=rgs_admin", 1),
        ("/a", "rolegate-console=rgs_admin; rolegate=rgs_user", 1),
        ("/a", "rolegate-console=rgs_other; rolegate=rgs_user", 2),
        ("/a", "rolegate=rgs_user", 2),
    ] {
        let mut request = form("/sign-in", &format!("{FORM}&return={back}"));
        request
            .headers_mut()
            .insert("cookie", HeaderValue::from_static(cookie));
        let response = fetch(&gateway(&[]).0, request).await;
        assert_eq!(
            (response.status, cookies(&response).len()),
            (303, set),
            "{cookie}"
        );
        let first = if back == "/a" {
            "rolegate=rgs_application;"
        } else {
            "rolegate-console=rgs_user;"
        };
        assert!(cookies(&response)[0].starts_with(first), "{cookie}");
    }
}

#[tokio::test]
async fn session_that_the_browser_had_ends_with_the_next_sign_in() {
    for (at, back, cookie, ended) in [
        (&[MARK][..], "/a", "rolegate=rgs_user", "rgs_user alone"),
        (&[MARK], "/a", "rolegate=rgs_unknown", "rgs_unknown alone"),
        (&[MARK], "/a", "rolegate-console=rgs_user", ""),
        // A session that is in both cookies continues in the console.
        (
            &[MARK],
            "/a",
            "rolegate=rgs_user; rolegate-console=rgs_user",
            "",
        ),
        (
            &[MARK],
            "/a",
            "rolegate=rgs_other; rolegate-console=rgs_user",
            "rgs_other alone",
        ),
        (&[MARK], "/a", "rolegate=user", ""),
        // Another host may have set some of the cookies.
        (
            &[MARK],
            "/a",
            "rolegate=rgs_tossed; rolegate=rgs_other; rolegate=; rolegate=rgs_user",
            "rgs_tossed rgs_other rgs_user alone",
        ),
        // Here the sign-in sets both cookies.
        (&[], "/a", "rolegate=rgs_user", "rgs_user"),
        (
            &[],
            "/a",
            "rolegate=rgs_other; rolegate-console=rgs_unknown",
            "rgs_other|rgs_unknown",
        ),
        (
            &[],
            "/console/",
            "rolegate-console=rgs_tossed; rolegate-console=rgs_user",
            "rgs_tossed rgs_user",
        ),
        (
            &[],
            "/console/",
            "rolegate=rgs_tossed; rolegate=rgs_other; rolegate-console=rgs_user",
            "rgs_user|rgs_tossed rgs_other",
        ),
        // The session for applications of another person continues. The new session for them is not used, so it ends
        // alone.
        (
            &[],
            "/console/",
            "rolegate=rgs_admin; rolegate-console=rgs_user",
            "rgs_user|rgs_application alone",
        ),
        (
            &[],
            "/a",
            "rolegate=rgs_user; rolegate-console=rgs_admin",
            "rgs_user|rgs_user alone",
        ),
        (
            &[],
            "/console/",
            "rolegate=rgs_other; rolegate-console=rgs_user",
            "rgs_user|rgs_other",
        ),
    ] {
        let (router, calls) = gateway(&[]);
        let headers = [at, &[LOOPBACK, SAME_ORIGIN, FORM_TYPE, ("cookie", cookie)]].concat();
        let body = format!("{FORM}&return={back}");
        let response = fetch(&router, request("POST", "/sign-in", &headers, &body)).await;
        assert_eq!(response.status, 303, "{cookie}");
        let expected = ended.split('|').filter(|ended| !ended.is_empty());
        assert_eq!(
            ended_sessions(&calls),
            expected.collect::<Vec<_>>(),
            "{cookie}"
        );
    }
    let (router, calls) = gateway(&[]);
    let mut request = form("/sign-in", "username=ann&password=wrong&return=/a");
    request
        .headers_mut()
        .insert("cookie", HeaderValue::from_static("rolegate=rgs_user"));
    assert_eq!(fetch(&router, request).await.status, 401);
    assert_eq!(calls.all().len(), 1, "a wrong password ends nothing");
}

#[tokio::test]
async fn sign_in_can_be_off_and_is_at_the_bearer_address_only() {
    let settings = Settings::from_args(&[]).expect("settings").public;
    let state = GatewayState::for_tests(shared_auth_service(), sign_in(&[]));
    let basic = basic::router(state, &settings, &MemoryBudgets::new(&settings));
    for router in [gateway(&["--sign-in", "off"]).0, basic] {
        for path in [
            "/sign-in",
            "/sign-in/base.css",
            "/sign-out",
            "/set-password",
        ] {
            for method in ["GET", "POST", "DELETE"] {
                let headers = [LOOPBACK, SAME_ORIGIN, FORM_TYPE];
                let response = send(&router, request(method, path, &headers, FORM)).await;
                response.assert_error(404, "Not Found");
            }
        }
    }
}

#[tokio::test]
async fn an_auth_service_of_the_version_before_makes_the_session_of_the_console_only() {
    let (router, calls) = gateway(&[]);
    calls.edit("CreateSession", |created: &mut CreateSessionResponse| {
        answer_fixed_session(created);
        created.application_token = None;
    });
    let body = "username=ann&password=right&return=/console/";
    let response = fetch(&router, form("/sign-in", body)).await;
    assert_eq!(response.status, 303);
    let cookies = cookies(&response);
    assert_eq!(cookies.len(), 1, "{cookies:?}");
    assert!(cookies[0].starts_with("rolegate-console=rgs_user;"));
}

#[tokio::test]
async fn an_auth_service_of_the_version_before_makes_the_session_of_the_domain_only() {
    let (router, calls) = gateway(&DOMAIN);
    calls.edit("CreateSession", |created: &mut CreateSessionResponse| {
        answer_fixed_session(created);
        created.application_token = None;
        created.token = "rgd_user".to_owned();
    });
    let sign_in = async |back: &str| {
        let headers = [("host", "auth.example.org"), HTTPS, SAME_ORIGIN, FORM_TYPE];
        let body = format!("username=ann&password=right&return={back}");
        fetch(&router, request("POST", "/sign-in", &headers, &body)).await
    };
    let response = sign_in("/").await;
    assert_eq!(response.status, 303);
    let set = cookies(&response);
    assert_eq!(set.len(), 1, "{set:?}");
    assert!(set[0].starts_with("__Secure-rolegate=rgd_user;"), "{set:?}");
    // The account page cannot use this session, and would ask for a password again and again.
    let response = sign_in("/account").await;
    assert_eq!(response.status, 500);
    assert!(cookies(&response).is_empty());
}
