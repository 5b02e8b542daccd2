//! `/sign-in` and `/sign-out`, as browsers use them, and what pages of other sites must not achieve
//! with them.
//!
//! This file has the forms, the return addresses and the helpers that other files use. `cookies`
//! has the attributes of the cookies, and `brand` the operator's texts and the language. What
//! proxies decide about the cookies is in `sign_in_cookie`.

mod brand;
mod cookies;

use crate::audit::audit;
use e2e::{
    ADMIN_PASSWORD, Api, TestApp, TestResponse, TestSetup, for_one_deployment,
    for_split_deployments, for_two_deployments, grpc,
};
use reqwest::{Method, RequestBuilder, header::CONTENT_TYPE};
use rolegate_proto::auth_v1::{
    AnyAuthenticated, AuthorizeRequest, AuthorizeResponse, authorize_request::Requirement,
};
use serde_json::json;

for_two_deployments!(
    a_person_signs_in_uses_the_console_and_signs_out,
    a_wrong_password_costs_a_hash_and_counts_as_an_attempt,
    a_cookie_that_was_sent_before_is_never_the_one_after,
);
for_one_deployment!(
    no_other_page_makes_its_visitors_guess_or_signs_them_in_or_out,
    refused_forms_of_other_pages_are_in_the_audit_log,
    malformed_forms_are_refused_before_the_password_is_checked,
    a_return_address_is_followed_only_to_known_origins,
    what_leads_nobody_back_and_what_no_proxy_passes_is_logged_once_for_a_host,
    sign_in_can_be_off,
    return_addresses_and_forms_are_in_no_log_and_no_metric,
);
for_split_deployments!(an_outage_is_shown_on_the_page_and_keeps_the_cookies);

const FORM_TYPE: &str = "application/x-www-form-urlencoded";
pub(crate) const OWN_PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");
/// The headers by which a proxy that terminates TLS describes the request.
pub(crate) const HTTPS: [(&str, &str); 2] =
    [("host", "auth.example.org"), ("x-forwarded-proto", "https")];

pub(crate) fn form_of(username: &str, password: &str, back: &str) -> String {
    let fields = [
        ("username", username),
        ("password", password),
        ("return", back),
    ];
    let mut form = reqwest::Url::parse("http://form").expect("a URL");
    form.query_pairs_mut().extend_pairs(fields);
    form.query().expect("fields").to_owned()
}

pub(crate) async fn get(api: &Api, path: &str, headers: &[(&str, &str)]) -> TestResponse {
    api.send(with(api.request(Method::GET, path), headers))
        .await
}

fn with(request: RequestBuilder, headers: &[(&str, &str)]) -> RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    })
}

/// Sends a form as one of Rolegate's pages does, with additional headers.
pub(crate) async fn submit(
    api: &Api,
    path: &str,
    form: &str,
    headers: &[(&str, &str)],
) -> TestResponse {
    let request = api
        .request(Method::POST, path)
        .header(CONTENT_TYPE, FORM_TYPE);
    api.send(with(request.body(form.to_owned()), headers)).await
}

/// Returns the cookie that a sign-in set for the place where it leads, as the browser sends it:
/// `name=value`. The response may set another cookie, which has its own session.
#[track_caller]
pub(crate) fn cookie_of(response: &TestResponse) -> String {
    let set = response.expect(303).headers.get_all("set-cookie").iter();
    let cookies = set.map(|it| it.to_str().expect("visible ASCII").split(';').next());
    let cookies: Vec<_> = cookies.map(Option::unwrap_or_default).collect();
    let values: Vec<_> = cookies
        .iter()
        .filter_map(|it| Some(it.split_once('=')?.1))
        .collect();
    match (&cookies[..], &values[..]) {
        ([cookie], [_]) => (*cookie).to_owned(),
        ([first, second], [one, other])
            if one != other && first.contains("-console=") != second.contains("-console=") =>
        {
            (*first).to_owned()
        }
        _ => panic!("neither one nor both: {response}"),
    }
}

async fn sign_in(api: &Api, username: &str, password: &str, back: &str) -> String {
    cookie_of(
        &submit(
            api,
            "/sign-in",
            &form_of(username, password, back),
            &[OWN_PAGE],
        )
        .await,
    )
}

async fn a_person_signs_in_uses_the_console_and_signs_out(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let page = app.bearer.get("/sign-in?return=/console/%23/posts").await;
    page.expect(200)
        .expect_header("content-type", Some("text/html; charset=utf-8"));
    page.expect_header("cache-control", Some("no-store"));
    assert!(
        page.body
            .contains(r#"name="return" value="/console/#/posts""#),
        "{page}"
    );
    let form = form_of("ann", &ann.password, "/console/#/posts");
    let agent = ("user-agent", "Mozilla/5.0");
    let signed_in = submit(&app.bearer, "/sign-in", &form, &[OWN_PAGE, agent]).await;
    signed_in.expect_header("location", Some("/console/#/posts"));
    signed_in.expect_header("cache-control", Some("no-store"));
    let cookie = cookie_of(&signed_in);
    let session = cookie
        .strip_prefix("rolegate-console=rgs_")
        .expect("a session of the console");
    assert_eq!(session.len(), 43);
    let set = signed_in.header("set-cookie").expect("a cookie");
    assert!(
        set.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"),
        "{set}"
    );

    let with_cookie = [OWN_PAGE, ("cookie", cookie.as_str())];
    let me = get(&app.bearer, "/me", &with_cookie)
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&me["username"], &me["credential"]["kind"]),
        (&json!("ann"), &json!("session"))
    );
    let listed = get(&app.bearer, "/profile/sessions", &with_cookie)
        .await
        .expect(200)
        .json();
    let listed = &listed["sessions"][0];
    assert_eq!(
        (&listed["user_agent"], &listed["current"]),
        (&json!("Mozilla/5.0"), &json!(true))
    );
    // The cookie may also make changes, as the token of any client may.
    let post = json!({ "title": "from the console", "content": "text" });
    let request = app.bearer.request(Method::POST, "/posts").json(&post);
    let request = request
        .header("cookie", &cookie)
        .header(OWN_PAGE.0, OWN_PAGE.1);
    app.bearer
        .send(request)
        .await
        .expect_detail(403, "Insufficient privileges.");

    // Opening the page with a GET does not end the session.
    get(&app.bearer, "/sign-out", &with_cookie)
        .await
        .expect(200);
    get(&app.bearer, "/me", &with_cookie).await.expect(200);
    let signed_out = submit(&app.bearer, "/sign-out", "return=/a", &with_cookie).await;
    signed_out
        .expect(303)
        .expect_header("location", Some("/sign-in?return=%2Fa"));
    signed_out.expect_header("clear-site-data", Some("\"cache\""));
    let page = get(
        &app.bearer,
        "/sign-in",
        &[("cookie", "rolegate-signed-out=1")],
    )
    .await;
    assert!(page.body.contains("You have signed out."), "{page}");
    let removed = signed_out.headers.get_all("set-cookie").iter();
    let is_removal = |it: &reqwest::header::HeaderValue| {
        it.to_str()
            .is_ok_and(|it| it.contains("=; Path=/; Max-Age=0"))
    };
    assert_eq!(
        removed.filter(|it| is_removal(it)).count(),
        2,
        "{signed_out}"
    );
    // A copy of the cookie is no longer valid.
    let ended = get(&app.bearer, "/me", &with_cookie).await;
    ended.expect_detail(401, "Invalid or expired token.");
    let token = format!("rgs_{session}");
    app.bearer
        .with_token(&token)
        .get("/me")
        .await
        .expect_detail(401, "Invalid or expired token.");
    submit(&app.bearer, "/sign-out", "", &with_cookie)
        .await
        .expect(303);
}

pub(crate) async fn hashes(app: &TestApp) -> f64 {
    let metrics = Api::at(&app.auth().address("ops"))
        .get("/metrics")
        .await
        .body;
    let count = metrics
        .lines()
        .find_map(|it| it.strip_prefix("rolegate_hashing_run_seconds_count "));
    count.and_then(|it| it.parse().ok()).expect("a count")
}

async fn a_wrong_password_costs_a_hash_and_counts_as_an_attempt(setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "4").start().await;
    app.user("ann").await;
    let before = hashes(&app).await;
    for username in ["ann", "stranger"] {
        for (password, back) in [("wrong", "/a"), ("", "")] {
            let form = form_of(username, password, back);
            let refused = submit(&app.bearer, "/sign-in", &form, &[OWN_PAGE]).await;
            refused
                .expect(401)
                .expect_header("rolegate-reason", Some("CREDENTIALS_INVALID"));
            let alert = r#"role="alert">Invalid username or password.</p>"#;
            assert!(refused.body.contains(alert), "{refused}");
            assert!(
                refused.body.contains(&format!(r#"value="{username}""#)),
                "{refused}"
            );
            refused.expect_header("set-cookie", None);
        }
    }
    assert!(
        (hashes(&app).await - before - 4.0).abs() < 0.1,
        "a hash for each"
    );
    for _ in 0..2 {
        app.try_log_in("ann", "wrong").await.expect(401);
    }
    app.try_log_in("ann", "wrong").await.expect(429);
    let form = form_of("ann", "password of ann", "");
    let refused = submit(&app.bearer, "/sign-in", &form, &[OWN_PAGE]).await;
    refused.expect(429).expect_retry_after();
    assert!(
        refused.body.contains("Too many attempts, try again later."),
        "{refused}"
    );
    assert_eq!(app.database.count_rows("SELECT 1 FROM api_key").await, 0);
}

/// Returns the decision of auth-service about a session from a cookie.
pub(crate) async fn decide(
    app: &TestApp,
    session: &str,
) -> Result<tonic::Response<AuthorizeResponse>, tonic::Status> {
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let request = AuthorizeRequest {
        access_token: session.to_owned(),
        requirement: Some(Requirement::AnyAuthenticated(AnyAuthenticated {})),
        client_address: None,
        from_cookie: true,
    };
    client.authorize(request).await
}

async fn a_cookie_that_was_sent_before_is_never_the_one_after(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let of_bob = sign_in(&app.bearer, "bob", &bob.password, "/a").await;
    let unknown = format!("rolegate=rgs_{}", "A".repeat(43));
    let planted = "rolegate=planted".to_owned();
    for before in [&of_bob, &unknown, &planted] {
        let form = form_of("ann", &ann.password, "/a");
        let headers = [OWN_PAGE, ("cookie", before.as_str())];
        let after = cookie_of(&submit(&app.bearer, "/sign-in", &form, &headers).await);
        assert!(
            after.starts_with("rolegate=rgs_") && after != *before,
            "{after}"
        );
        let token = after.trim_start_matches("rolegate=");
        let answer = decide(&app, token).await.expect("good in a cookie");
        assert_eq!(answer.into_inner().user.expect("a user").username, "ann");
    }
    // The sign-in ended the session that the same browser had before, because the browser no longer
    // has its cookie.
    let token = of_bob.trim_start_matches("rolegate=");
    assert!(decide(&app, token).await.is_err());
}

async fn no_other_page_makes_its_visitors_guess_or_signs_them_in_or_out(setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "1").start().await;
    let cookie = sign_in(&app.bearer, "admin", ADMIN_PASSWORD, "/console/").await;
    let own = app.bearer.base().to_owned();
    let elsewhere = own.replace("127.0.0.1", "localhost");
    for others in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "cross-site"), ("origin", own.as_str())],
        &[("origin", "null")],
        &[("origin", elsewhere.as_str())],
        &[("origin", "https://evil.example")],
        &[("referer", own.as_str())],
    ] {
        let headers = [&[("cookie", cookie.as_str())], others].concat();
        for (path, form) in [
            ("/sign-in", form_of("admin", "wrong", "")),
            ("/sign-in", form_of("admin", ADMIN_PASSWORD, "")),
            ("/sign-out", String::new()),
        ] {
            let refused = submit(&app.bearer, path, &form, &headers).await;
            refused
                .expect_detail(403, "Cross-site request.")
                .expect_header("set-cookie", None);
            refused.expect_header("rolegate-reason", Some("CROSS_SITE"));
        }
    }
    let with_cookie = [OWN_PAGE, ("cookie", cookie.as_str())];
    get(&app.bearer, "/me", &with_cookie).await.expect(200);
    // None of these requests counted as a guess. A browser without Fetch Metadata sends only the
    // origin.
    let form = form_of("admin", ADMIN_PASSWORD, "");
    submit(&app.bearer, "/sign-in", &form, &[("origin", &own)])
        .await
        .expect(303);
}

async fn refused_forms_of_other_pages_are_in_the_audit_log(setup: TestSetup) {
    let setup = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off");
    let app = setup.start().await;
    let cookie = sign_in(&app.bearer, "admin", ADMIN_PASSWORD, "/console/").await;
    for path in ["/sign-in", "/sign-out"] {
        let form = form_of("admin", "planted-password", "");
        let headers = [
            ("sec-fetch-site", "cross-site"),
            ("cookie", cookie.as_str()),
        ];
        // The log has one line a minute for each client and route.
        for _ in 0..3 {
            submit(&app.bearer, path, &form, &headers).await.expect(403);
        }
    }
    let mut lines = audit(app.gateway(), "access_denied", 2).await;
    for line in &mut lines {
        line.as_object_mut()
            .and_then(|line| line.remove("request_id"))
            .expect("an id");
    }
    let denied = |route: &str| {
        json!({
            "event": "access_denied", "method": "POST", "route": route, "reason": "CROSS_SITE",
        })
    };
    assert_eq!(lines, [denied("/sign-in"), denied("/sign-out")]);
    let log = app.gateway().stderr();
    let (_, session) = cookie.split_once('=').expect("a cookie");
    assert!(!log.contains("planted") && !log.contains(session), "{log}");
}

async fn malformed_forms_are_refused_before_the_password_is_checked(setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "1").start().await;
    let send = async |path: &str, content_type: &str, body: String| {
        let request = app
            .bearer
            .request(Method::POST, path)
            .header(CONTENT_TYPE, content_type);
        app.bearer
            .send(request.header(OWN_PAGE.0, OWN_PAGE.1).body(body))
            .await
    };
    let wrong = form_of("admin", "wrong", "/a");
    for (content_type, body, status) in [
        (FORM_TYPE, String::new(), 400),
        (FORM_TYPE, "username=admin".to_owned(), 400),
        (FORM_TYPE, format!("{wrong}&username=ann"), 400),
        (FORM_TYPE, format!("{wrong}&password=a"), 400),
        (FORM_TYPE, format!("{wrong}&return=/"), 400),
        (FORM_TYPE, format!("{wrong}&x=%ff"), 400),
        (
            FORM_TYPE,
            format!("{wrong}&x={}", "x".repeat(64 * 1024)),
            413,
        ),
        ("text/plain", wrong.clone(), 415),
        ("multipart/form-data; boundary=a", wrong.clone(), 415),
        (
            "application/x-www-form-urlencoded; charset=iso-8859-1",
            wrong.clone(),
            415,
        ),
        (
            "application/json",
            json!({ "username": "admin", "password": "wrong" }).to_string(),
            415,
        ),
    ] {
        send("/sign-in", content_type, body)
            .await
            .expect_error(status);
    }
    for (content_type, body, status) in [
        (FORM_TYPE, "return=/a&return=/a".to_owned(), 400),
        (FORM_TYPE, "x".repeat(65 * 1024), 413),
        ("text/plain", String::new(), 415),
    ] {
        send("/sign-out", content_type, body)
            .await
            .expect_error(status);
    }
    for path in ["/sign-in", "/sign-out"] {
        app.bearer
            .get(&format!("{path}?return=/a&return=/b"))
            .await
            .expect_error(400);
        app.bearer
            .get(&format!("{path}?return=%ff"))
            .await
            .expect_error(400);
        app.bearer
            .put(path, &json!({}))
            .await
            .expect_detail(405, "Method Not Allowed");
        app.basic.get(path).await.expect_detail(404, "Not Found");
    }
    sign_in(&app.bearer, "admin", ADMIN_PASSWORD, "/a").await;
}

async fn a_return_address_is_followed_only_to_known_origins(setup: TestSetup) {
    let origins = "https://app.example.org,https://*.example.net";
    let app = setup.with("RETURN_ORIGINS", origins).start().await;
    let own = app.bearer.base().to_owned();
    let long = format!("/{}", "a".repeat(3_000));
    for (back, location) in [
        ("/a?b=c&d#e", "/a?b=c&d#e"),
        (&format!("{own}/a"), "/a"),
        ("https://app.example.org/a?b", "https://app.example.org/a?b"),
        ("https://a.example.net", "https://a.example.net/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("/.//evil.example", "/"),
        ("https:evil.example", "/"),
        ("https://app.example.org@evil.example", "/"),
        ("https://app.example.org.evil.example", "/"),
        ("http://app.example.org/", "/"),
        ("https://example.net/", "/"),
        ("javascript:alert(1)", "/"),
        ("data:text/html,a", "/"),
        ("/a\r\nX-Injected: yes", "/aX-Injected:%20yes"),
        (&long, "/"),
        ("", "/"),
    ] {
        let form = form_of("admin", ADMIN_PASSWORD, back);
        let response = submit(&app.bearer, "/sign-in", &form, &[OWN_PAGE]).await;
        response
            .expect(303)
            .expect_header("location", Some(location));
        response.expect_header("x-injected", None);
    }
    let path = format!("/sign-in?return={long}");
    let page = app.bearer.get(&path).await;
    assert!(page.body.contains("is too long to return to."), "{page}");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(!policy.contains("form-action"), "{policy}");
    // The form is sent to the address of the page, whose `return` counts where the form has no such
    // field.
    let form = "username=admin&password=".to_owned() + &ADMIN_PASSWORD.replace(' ', "+");
    for (path, location) in [
        (
            "/sign-in?return=https://a.example.net/x",
            "https://a.example.net/x",
        ),
        ("/sign-in?return=https://evil.example/x", "/"),
    ] {
        let response = submit(&app.bearer, path, &form, &[OWN_PAGE]).await;
        response
            .expect(303)
            .expect_header("location", Some(location));
    }
}

async fn sign_in_can_be_off(setup: TestSetup) {
    let app = setup.with("SIGN_IN", "off").start().await;
    let unknown = app.bearer.get("/nowhere").await;
    unknown.expect_detail(404, "Not Found");
    for path in [
        "/sign-in",
        "/sign-in/base.css",
        "/sign-out",
        "/console/",
        "/console",
    ] {
        assert_eq!(
            app.bearer.get(path).await.comparable(),
            unknown.comparable(),
            "{path}"
        );
    }
    let form = form_of("admin", ADMIN_PASSWORD, "");
    for path in ["/sign-in", "/sign-out"] {
        let response = submit(&app.bearer, path, &form, &[OWN_PAGE]).await;
        response.expect_detail(404, "Not Found");
    }
    let session = app.admin().await.session(&app.bearer).await.token;
    let cookie = format!("rolegate-console={session}");
    let response = get(&app.bearer, "/me", &[OWN_PAGE, ("cookie", &cookie)]).await;
    response.expect_detail(401, "Not authenticated.");
    let notice = app.gateway().stdout();
    assert!(
        notice.contains("Console: off, because SIGN_IN is off"),
        "{notice}"
    );
    let docs = app.bearer.get("/docs/").await;
    assert!(!docs.expect(200).body.contains("/console/"), "{docs}");
}

async fn return_addresses_and_forms_are_in_no_log_and_no_metric(setup: TestSetup) {
    let app = setup.with("RUST_LOG", "trace").start().await;
    app.bearer
        .get("/sign-in?return=/planted-address-4d1c")
        .await
        .expect(200);
    for password in ["planted-wrong-9e02", ADMIN_PASSWORD] {
        let form = form_of("admin", password, "/planted-address-4d1c");
        submit(&app.bearer, "/sign-in", &form, &[OWN_PAGE]).await;
    }
    let cookie = sign_in(&app.bearer, "admin", ADMIN_PASSWORD, "/console/").await;
    let with_cookie = [OWN_PAGE, ("cookie", cookie.as_str())];
    get(&app.bearer, "/me", &with_cookie).await.expect(200);
    submit(
        &app.bearer,
        "/sign-out",
        "return=/planted-address-4d1c",
        &with_cookie,
    )
    .await
    .expect(303);
    let metrics = Api::at(&app.gateway().address("ops"))
        .get("/metrics")
        .await
        .body;
    assert!(metrics.contains("route=\"/sign-in\""), "{metrics}");
    let (processes, _database) = app.into_processes();
    for process in processes {
        process.terminate();
        let exit = process.exit().await;
        let printed = exit.stdout + &exit.stderr + &metrics;
        for secret in [
            "planted-",
            ADMIN_PASSWORD,
            cookie.trim_start_matches("rolegate-console="),
        ] {
            let lines: Vec<_> = printed
                .lines()
                .filter(|line| line.contains(secret))
                .collect();
            assert!(lines.is_empty(), "{secret}: {lines:#?}");
        }
    }
}

async fn an_outage_is_shown_on_the_page_and_keeps_the_cookies(setup: TestSetup) {
    let mut app = setup.start().await;
    let cookie = sign_in(&app.bearer, "admin", ADMIN_PASSWORD, "/console/").await;
    let with_cookie = [OWN_PAGE, ("cookie", cookie.as_str())];
    app.kill_auth().await;
    let form = form_of("admin", ADMIN_PASSWORD, "");
    for (path, form) in [("/sign-in", form.as_str()), ("/sign-out", "")] {
        let response = submit(&app.bearer, path, form, &with_cookie).await;
        response
            .expect(503)
            .expect_retry_after()
            .expect_header("set-cookie", None);
        response.expect_header("rolegate-reason", Some("UPSTREAM_UNAVAILABLE"));
        assert!(
            response.body.contains("Service temporarily unavailable."),
            "{response}"
        );
    }
    app.start_auth(None).await;
    get(&app.bearer, "/me", &with_cookie).await.expect(200);
    submit(&app.bearer, "/sign-out", "", &with_cookie)
        .await
        .expect(303);
    get(&app.bearer, "/me", &with_cookie).await.expect(401);
}

async fn what_leads_nobody_back_and_what_no_proxy_passes_is_logged_once_for_a_host(
    setup: TestSetup,
) {
    let app = setup.with("RUST_LOG", "warn").start().await;
    let back = |host: &str| format!("/sign-in?return=https://{host}/secret?key=value");
    for host in ["wiki.example.org", "wiki.example.org", "blog.example.org"] {
        let page = app.bearer.get(&back(host)).await;
        assert!(page.expect(200).body.contains("not allowed here"), "{page}");
        let at = ("host", host);
        let page = get(&app.bearer, "/sign-in/ambiguous-address", &[at]).await;
        assert!(
            page.expect(400).body.contains("more than one way"),
            "{page}"
        );
    }
    // Strangers cannot fill the log with the names of many hosts.
    for number in 0..30 {
        app.bearer.get(&back(&format!("h{number}.example"))).await;
        let at = format!("h{number}.example");
        get(&app.bearer, "/sign-in/ambiguous-address", &[("host", &at)]).await;
    }
    let log = app.gateway().stderr();
    for text in [
        "RETURN_ORIGINS: people are not redirected",
        "a proxy refused an address of this host",
    ] {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(text)).collect();
        assert_eq!(lines.len(), 10, "{log}");
        for host in ["wiki.example.org", "blog.example.org"] {
            let of_host = lines.iter().filter(|line| line.contains(host));
            assert_eq!(of_host.count(), 1, "{host}: {lines:?}");
        }
    }
    assert!(
        !log.contains("secret") && !log.contains("key=value"),
        "{log}"
    );
}
