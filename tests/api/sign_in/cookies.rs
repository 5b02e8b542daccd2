//! The cookies of the sign-in page: their attributes, and which endpoints accept them.

use super::{HTTPS, OWN_PAGE, cookie_of, form_of, get, submit};
use crate::sign_in_cookie::browser::new_session;
use e2e::{ADMIN_PASSWORD, Api, TestApp, TestSetup, for_one_deployment, for_two_deployments, grpc};
use rolegate_proto::auth_v1::{AnyAuthenticated, AuthorizeRequest, authorize_request::Requirement};
use serde_json::json;

for_two_deployments!(
    every_session_in_the_cookies_ends_at_sign_out_and_at_the_next_sign_in,
    over_https_the_cookie_is_for_this_host_only,
    a_session_for_a_domain_is_no_token_and_ends_at_sign_out,
);
for_one_deployment!(
    without_encryption_nobody_signs_in,
    the_api_takes_one_cookie_of_the_console_from_its_own_pages_only,
);

const ATTRIBUTES: &str = "Max-Age=2592000; HttpOnly; Secure; SameSite=Lax";

/// Signs the admin in over HTTPS. Returns the cookie and the whole `Set-Cookie`.
async fn sign_in(app: &TestApp, back: &str) -> (String, String) {
    let form = form_of("admin", ADMIN_PASSWORD, back);
    let headers = [&HTTPS[..], &[OWN_PAGE]].concat();
    let response = submit(&app.bearer, "/sign-in", &form, &headers).await;
    let set = response.header("set-cookie").expect("a cookie").to_owned();
    (cookie_of(&response), set)
}

async fn over_https_the_cookie_is_for_this_host_only(setup: TestSetup) {
    let app = setup.start().await;
    let (cookie, set) = sign_in(&app, "/a").await;
    assert!(cookie.starts_with("__Host-rolegate=rgs_"), "{cookie}");
    assert_eq!(set, format!("{cookie}; Path=/; {ATTRIBUTES}"));
    let (of_console, set) = sign_in(&app, "/console/").await;
    assert!(
        of_console.starts_with("__Host-rolegate-console=rgs_"),
        "{of_console}"
    );
    assert_eq!(set, format!("{of_console}; Path=/; {ATTRIBUTES}"));
    // The API refuses the cookie for applications.
    for (cookie, status) in [(&cookie, 401), (&of_console, 200)] {
        let headers = [&HTTPS[..], &[OWN_PAGE, ("cookie", cookie)]].concat();
        get(&app.bearer, "/me", &headers).await.expect(status);
    }
    let both = format!("{cookie}; {of_console}");
    let headers = [&HTTPS[..], &[OWN_PAGE, ("cookie", &both)]].concat();
    submit(&app.bearer, "/sign-out", "", &headers)
        .await
        .expect(303);
    for ended in [cookie, of_console] {
        let token = ended.split_once('=').expect("a value").1;
        app.bearer.with_token(token).get("/me").await.expect(401);
    }
}

async fn without_encryption_nobody_signs_in(setup: TestSetup) {
    let app = setup.start().await;
    for insecure in [
        &[("host", "example.org")][..],
        &[("host", "192.168.1.5:8000")],
        &[("host", "example.org"), ("x-forwarded-proto", "http")],
        &[
            ("host", "example.org"),
            ("x-forwarded-proto", "HTTPS, http"),
        ],
    ] {
        let page = get(&app.bearer, "/sign-in", insecure).await;
        page.expect(200);
        assert!(page.body.contains("Signing in needs HTTPS.") && !page.body.contains("<form"));
        let form = form_of("admin", ADMIN_PASSWORD, "");
        let headers = [insecure, &[OWN_PAGE]].concat();
        let response = submit(&app.bearer, "/sign-in", &form, &headers).await;
        response
            .expect(303)
            .expect_header("location", Some("/sign-in"));
        response.expect_header("set-cookie", None);
    }
    assert_eq!(app.database.count_rows("SELECT 1 FROM api_key").await, 0);
}

async fn authorize(app: &TestApp, session: &str, from_cookie: bool) -> bool {
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let request = AuthorizeRequest {
        access_token: session.to_owned(),
        requirement: Some(Requirement::AnyAuthenticated(AnyAuthenticated {})),
        client_address: None,
        from_cookie,
    };
    client.authorize(request).await.is_ok()
}

async fn a_session_for_a_domain_is_no_token_and_ends_at_sign_out(setup: TestSetup) {
    let setup = setup.with("COOKIE_DOMAIN", "example.org");
    let app = setup
        .with("SIGN_IN_URL", "https://auth.example.org/sign-in")
        .start()
        .await;
    let (cookie, set) = sign_in(&app, "/a").await;
    assert_eq!(
        set,
        format!("{cookie}; Path=/; Domain=example.org; {ATTRIBUTES}")
    );
    let session = cookie.strip_prefix("__Secure-rolegate=").expect("the name");
    assert!(
        session.starts_with("rgd_") && session.len() == 47,
        "{session}"
    );
    // Every host of the domain receives this cookie, so its session opens only applications.
    assert!(authorize(&app, session, true).await && !authorize(&app, session, false).await);
    let by_token = app.bearer.with_token(session);
    for path in ["/me", "/profile", "/users", "/profile/sessions"] {
        by_token
            .get(path)
            .await
            .expect_detail(401, "Invalid or expired token.");
    }
    by_token
        .post("/logout", &json!({}))
        .await
        .expect_detail(401, "Invalid or expired token.");
    for name in [
        "__Secure-rolegate",
        "__Host-rolegate",
        "__Host-rolegate-console",
    ] {
        let tossed = format!("{name}={session}");
        let headers = [&HTTPS[..], &[OWN_PAGE, ("cookie", &tossed)]].concat();
        get(&app.bearer, "/me", &headers)
            .await
            .expect_detail(401, "Not authenticated.");
    }
    assert!(authorize(&app, session, true).await);
    // A sibling host cannot keep the session alive by setting a cookie of the same name.
    let twice = format!("__Secure-rolegate=rgd_{}; {cookie}", "A".repeat(43));
    let headers = [&HTTPS[..], &[OWN_PAGE, ("cookie", &twice)]].concat();
    let signed_out = submit(&app.bearer, "/sign-out", "", &headers).await;
    let removed = signed_out.expect(303).headers.get_all("set-cookie").iter();
    let removed: Vec<_> = removed.map(|it| it.to_str().expect("ASCII")).collect();
    let removed_of_domain =
        "__Secure-rolegate=; Path=/; Domain=example.org; Max-Age=0; HttpOnly; Secure; SameSite=Lax";
    assert!(removed.contains(&removed_of_domain), "{removed:?}");
    assert!(!authorize(&app, session, true).await);
}

async fn the_api_takes_one_cookie_of_the_console_from_its_own_pages_only(setup: TestSetup) {
    let app = setup.start().await;
    let session = app.admin().await.session(&app.bearer).await.token;
    let good = format!("rolegate-console={session}");
    let status = async |cookie: &str, site: &str| {
        get(
            &app.bearer,
            "/me",
            &[("cookie", cookie), ("sec-fetch-site", site)],
        )
        .await
        .status
    };
    assert_eq!(status(&good, "same-origin").await, 200);
    for site in ["none", "same-site", "cross-site", "", "same-origin, none"] {
        assert_eq!(status(&good, site).await, 401, "{site}");
    }
    get(&app.bearer, "/me", &[("cookie", &good)])
        .await
        .expect(401);
    get(
        &app.bearer,
        "/me",
        &[("cookie", &good), ("origin", app.bearer.base())],
    )
    .await
    .expect(401);
    let key = app.admin().await.key(&app.bearer).await.token;
    let token = app.admin().await.token;
    for bad in [
        format!("{good}; {good}"),
        format!("rolegate-console=; {good}"),
        format!("{good}x{}", "x".repeat(64)),
        format!("{good}{}", "x".repeat(6_000)),
        format!("rolegate={session}"),
        format!("__Host-rolegate-console={session}"),
        format!("rolegate-console={key}"),
        format!("rolegate-console={token}"),
        format!("rolegate-console=\"{session}\""),
        format!("rolegate-console=Bearer {session}"),
        "rolegate-console=rgs_".to_owned(),
    ] {
        assert_eq!(status(&bad, "same-origin").await, 401, "{bad}");
    }
    let twice = [
        OWN_PAGE,
        ("cookie", good.as_str()),
        ("cookie", good.as_str()),
    ];
    get(&app.bearer, "/me", &twice).await.expect(401);
    // The Basic address accepts no cookies, and the address of proxies does not accept this one.
    for api in [
        app.basic.clone(),
        Api::at(&app.gateway().address("forward")),
    ] {
        for path in ["/protected", "/authorize"] {
            let response = get(&api, path, &[OWN_PAGE, ("cookie", &good)]).await;
            assert_ne!(response.status, 200, "{response}");
        }
    }
    // If the request has an `Authorization` header, that header decides, whatever it says.
    let both = [
        OWN_PAGE,
        ("cookie", good.as_str()),
        ("authorization", "Bearer nonsense"),
    ];
    get(&app.bearer, "/me", &both)
        .await
        .expect_detail(401, "Invalid or expired token.");
}

/// All sessions in the cookies must end, because a sibling host can set the domain's cookie any
/// number of times, and its session may belong to the attacker.
async fn every_session_in_the_cookies_ends_at_sign_out_and_at_the_next_sign_in(setup: TestSetup) {
    let setup = setup.with("COOKIE_DOMAIN", "example.org");
    let app = setup
        .with("SIGN_IN_URL", "https://auth.example.org/sign-in")
        .start()
        .await;
    let evil = app.user("evil").await;
    let unknown = |number: usize| format!("__Secure-rolegate=rgd_{number:043}");
    for (path, status_after) in [("/sign-out", 303), ("/sign-in", 303)] {
        for place in [0, 8, 100, 200] {
            let (own, _) = sign_in(&app, "/a").await;
            let tossed = new_session(&app, &evil, true).await;
            let mut cookies: Vec<String> = (0..200).map(unknown).collect();
            cookies.insert(place, own.clone());
            cookies.push(format!("__Secure-rolegate={tossed}"));
            let cookies = cookies.join("; ");
            let headers = [&HTTPS[..], &[OWN_PAGE, ("cookie", &cookies)]].concat();
            let form = match path {
                "/sign-in" => form_of("admin", ADMIN_PASSWORD, "/a"),
                _ => String::new(),
            };
            let response = submit(&app.bearer, path, &form, &headers).await;
            response.expect(status_after);
            let own = own.trim_start_matches("__Secure-rolegate=");
            assert!(!authorize(&app, own, true).await, "{path} {place}");
            assert!(!authorize(&app, &tossed, true).await, "{path} {place}");
            if path == "/sign-in" {
                let new = cookie_of(&response);
                let new = new.trim_start_matches("__Secure-rolegate=");
                assert!(authorize(&app, new, true).await, "{place}");
            }
        }
    }
    // Each end is recorded for the user of the session, as done by that user with the session
    // itself.
    let admin = app.admin().await;
    let query = format!("/audit?event=session_ended&user_id={}", evil.id);
    let listed = app.bearer.with_token(&admin.token).get(&query).await;
    let listed = listed.expect(200).json();
    let entries = listed["entries"].as_array().expect("entries");
    assert_eq!(entries.len(), 8, "{listed}");
    for entry in entries {
        assert_eq!(entry["actor_id"], json!(evil.id), "{entry}");
        assert_eq!(entry["actor"], "evil", "{entry}");
        assert_eq!(
            entry["actor_session"], entry["details"]["session_id"],
            "{entry}"
        );
    }
}
