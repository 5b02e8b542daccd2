//! The address of proxies, with `/authorize` and `/introspect`.

use crate::{api_keys::create_key, audit::audit};
use e2e::{
    ADMIN_PASSWORD, Api, TestApp, TestResponse, TestSetup, TestUser, for_all_deployments,
    for_split_deployments, for_two_deployments, token,
};
use reqwest::Method;
use serde_json::json;

for_all_deployments!(
    a_proxy_gets_the_stored_role_at_once,
    introspection_reports_the_stored_role_and_the_end_of_the_token,
);
for_two_deployments!(
    denials_of_both_schemes_name_the_actor_in_the_audit_log,
    guesses_count_for_the_client_that_a_trusted_proxy_reports,
    an_api_key_passes_with_its_role_and_has_no_end_in_introspection,
);
for_split_deployments!(
    an_outage_is_503_for_proxies_and_introspection,
    a_silent_auth_service_is_504_with_retry_after,
);

fn proxy_address(app: &TestApp) -> Api {
    Api::at(&app.gateway().address("forward"))
}

async fn introspect(api: &Api, token: &str) -> TestResponse {
    let form = format!("token={token}&token_type_hint=access_token");
    let request = api.request(Method::POST, "/introspect").body(form);
    api.send(request.header("content-type", "application/x-www-form-urlencoded"))
        .await
}

#[track_caller]
fn expect_passed(response: &TestResponse, id: i64, username: &str, role: &str) {
    response
        .expect(200)
        .expect_header("rolegate-user-id", Some(&id.to_string()));
    response.expect_header("rolegate-username", Some(username));
    response.expect_header("rolegate-role", Some(role));
    response.expect_header("remote-user", Some(username));
    response.expect_header("remote-email", username.contains('@').then_some(username));
    response.expect_header("cache-control", Some("no-store"));
    assert_eq!(response.body, "");
}

async fn a_proxy_gets_the_stored_role_at_once(setup: TestSetup) {
    let app = setup.start().await;
    let proxy = proxy_address(&app);
    let ann = app.user("j\u{f6}rg, 1").await;
    let encoded = "j%C3%B6rg%2C 1";
    let callers = [
        proxy.with_token(&ann.token),
        proxy.with_basic(&ann.username, &ann.password),
    ];
    for role in ["user", "author", "admin", "user"] {
        app.database.set_role(&ann.username, role).await;
        for caller in &callers {
            for query in ["", &format!("?roles={role}"), "?roles=user,author,admin"] {
                let response = caller.get(&format!("/authorize{query}")).await;
                expect_passed(&response, ann.id, encoded, role);
            }
            let others: Vec<_> = ["user", "author", "admin"]
                .into_iter()
                .filter(|it| *it != role)
                .collect();
            let denied = caller
                .get(&format!("/authorize?roles={}", others.join(",")))
                .await;
            denied.expect_detail(403, "Insufficient privileges.");
            denied.expect_header("rolegate-user-id", None);
        }
    }
    let no_roles = "Query parameter \"roles\" must be names of roles, separated by commas.";
    for names in ["root", "user,root", "User", "user,", ""] {
        let path = format!("/authorize?roles={names}");
        for caller in &callers {
            caller.get(&path).await.expect_detail(400, no_roles);
        }
        proxy
            .get(&path)
            .await
            .expect_detail(401, "Not authenticated.");
    }
    let is_mistake = |line: &str| line.contains("WARN") && line.contains("names unknown roles");
    // Waits for the warning about the last URL, whose list of roles is empty.
    app.gateway()
        .logs("names", |line| is_mistake(line) && line.contains("\"\""))
        .await;
    let stderr = app.gateway().stderr();
    assert_eq!(stderr.lines().filter(|line| is_mistake(line)).count(), 5);
    app.database.delete(&ann.username).await;
    callers[0]
        .get("/authorize")
        .await
        .expect_detail(401, "User not found.");
    callers[1]
        .get("/authorize")
        .await
        .expect_detail(401, "Invalid username or password.");
    proxy
        .get("/authorize")
        .await
        .expect_detail(401, "Not authenticated.");
    callers[0]
        .get("/authorize?roles=root")
        .await
        .expect_detail(401, "User not found.");
    proxy.get("/profile").await.expect_detail(404, "Not Found");
}

async fn denials_of_both_schemes_name_the_actor_in_the_audit_log(setup: TestSetup) {
    let app = setup
        .with("LOG_FORMAT", "json")
        .with("RUST_LOG", "off")
        .start()
        .await;
    let proxy = proxy_address(&app);
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let callers = [
        proxy.with_token(&ann.token),
        proxy.with_basic("bob", &bob.password),
    ];
    // All methods that HTTP does not define count as one in the limit of the log.
    for method in [&b"GET"[..], b"AAAA", b"AAAB", b"GET"] {
        for caller in &callers {
            let method = Method::from_bytes(method).expect("a method");
            let request = caller.request(method, "/authorize?roles=author,admin");
            caller.send(request).await.expect(403);
        }
    }
    let lines = audit(app.gateway(), "access_denied", 4).await;
    let fields = ["actor_id", "actor", "method", "route", "required_roles"];
    let denied: Vec<_> = lines
        .iter()
        .map(|line| fields.map(|field| line[field].clone()))
        .collect();
    let of = |user: &TestUser, method: &str| {
        [
            json!(user.id),
            json!(user.username),
            json!(method),
            json!("/authorize"),
            json!("author,admin"),
        ]
    };
    assert_eq!(
        denied,
        [
            of(&ann, "GET"),
            of(&bob, "GET"),
            of(&ann, "_OTHER"),
            of(&bob, "_OTHER")
        ]
    );
}

async fn guesses_count_for_the_client_that_a_trusted_proxy_reports(setup: TestSetup) {
    let setup = setup
        .with("TRUSTED_PROXIES", "127.0.0.0/8")
        .with("LOGIN_FAILURE_LIMIT", "2");
    let app = setup.start().await;
    let proxy = proxy_address(&app);
    let (guesser, home) = ("203.0.113.5", "198.51.100.7");
    let ask = async |address: &str, password: &str| {
        let api = proxy.with_basic("admin", password);
        api.send_from(address, api.request(Method::GET, "/authorize"))
            .await
    };
    for _ in 0..2 {
        ask(guesser, "wrong")
            .await
            .expect_detail(401, "Invalid username or password.");
    }
    let refused = ask(guesser, ADMIN_PASSWORD).await;
    refused
        .expect_detail(429, "Too many attempts, try again later.")
        .expect_retry_after();
    ask(home, ADMIN_PASSWORD).await.expect(200);
}

async fn introspection_reports_the_stored_role_and_the_end_of_the_token(setup: TestSetup) {
    let app = setup.start().await;
    let proxy = proxy_address(&app);
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let callers = [
        proxy.with_token(&admin.token),
        proxy.with_basic("admin", ADMIN_PASSWORD),
    ];
    for role in ["author", "admin", "user"] {
        app.database.set_role("ann", role).await;
        for caller in &callers {
            let response = introspect(caller, &ann.token).await;
            let expected = json!({
                "active": true,
                "sub": ann.id.to_string(),
                "username": "ann",
                "role": role,
                "groups": [],
                "token_type": "bearer",
                "exp": token::claims(&ann.token)["exp"],
            });
            response
                .expect_json(200, &expected)
                .expect_header("cache-control", Some("no-store"));
        }
    }
    let forged = token::signed(
        &token::plain_header(),
        &token::claims_of(ann.id),
        "another secret of more than 32 bytes",
    );
    app.database.delete("ann").await;
    for token in [&ann.token, &forged, "nonsense", ""] {
        introspect(&callers[0], token)
            .await
            .expect_json(200, &json!({ "active": false }));
    }
    // A caller must authenticate for `/introspect`, and the token of a deleted user does not.
    introspect(&proxy.with_token(&ann.token), &admin.token)
        .await
        .expect(401);
    introspect(&proxy, &admin.token)
        .await
        .expect_detail(401, "Not authenticated.");
}

async fn an_api_key_passes_with_its_role_and_has_no_end_in_introspection(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let body = json!({ "name": "reports", "role": "author" });
    let (key, _) = create_key(&app.bearer.with_token(&admin.token), &body).await;
    let caller = proxy_address(&app).with_token(&key);
    let passed = caller.get("/authorize?roles=author").await;
    expect_passed(&passed, admin.id, "admin", "author");
    let denied = caller.get("/authorize?roles=admin").await;
    denied.expect_detail(403, "Insufficient privileges.");
    let expected = json!({
        "active": true,
        "sub": admin.id.to_string(),
        "username": "admin",
        "role": "author",
        "groups": [],
        "token_type": "bearer",
    });
    introspect(&caller, &key).await.expect_json(200, &expected);
    let unknown = format!("rgk_{}", "x".repeat(key.len() - 4));
    introspect(&caller, &unknown)
        .await
        .expect_json(200, &json!({ "active": false }));
}

async fn an_outage_is_503_for_proxies_and_introspection(setup: TestSetup) {
    let mut app = setup.start().await;
    let proxy = proxy_address(&app);
    let admin = app.admin().await;
    app.kill_auth().await;
    for caller in [
        proxy.with_token(&admin.token),
        proxy.with_basic("admin", ADMIN_PASSWORD),
    ] {
        for response in [
            caller.get("/authorize").await,
            caller.get("/authorize?roles=admin").await,
            introspect(&caller, &admin.token).await,
        ] {
            response
                .expect_detail(503, "Service temporarily unavailable.")
                .expect_retry_after();
            response.expect_header("www-authenticate", None);
            response.expect_header("rolegate-role", None);
        }
    }
}

async fn a_silent_auth_service_is_504_with_retry_after(setup: TestSetup) {
    let mut app = setup.start().await;
    let proxy = proxy_address(&app);
    let admin = app.admin().await;
    app.auth_proxy().silence();
    let late = proxy.with_token(&admin.token).get("/authorize").await;
    late.expect_detail(504, "Upstream timed out.")
        .expect_retry_after();
}
