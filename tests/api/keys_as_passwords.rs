//! API keys as passwords of HTTP Basic, at the addresses that proxies ask.

use crate::{
    api_keys::create_key,
    audit::audit,
    metrics::{scrape, value},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{
    Api, TestApp, TestSetup, TestUser,
    ext_authz::{self, check, decide},
    for_all_deployments, for_two_deployments,
};
use reqwest::Method;
use serde_json::{Value, json};

for_all_deployments!(a_key_is_the_password_of_its_user_until_it_is_deleted);
for_two_deployments!(
    a_key_passes_in_a_full_window_in_which_the_password_does_not,
    keys_of_others_and_ended_ones_count_as_wrong_passwords,
);

fn proxy_address(app: &TestApp) -> Api {
    Api::at(&app.gateway().address("forward"))
}

/// Creates an author with an API key that is limited to the role `user`.
async fn user_with_key(app: &TestApp, name: &str) -> (TestUser, String, Value) {
    let user = app.user_with_role(name, "author").await;
    let body = json!({ "name": "git", "role": "user" });
    let (key, stored) = create_key(&app.bearer.with_token(&user.token), &body).await;
    (user, key, stored)
}

async fn a_key_is_the_password_of_its_user_until_it_is_deleted(setup: TestSetup) {
    let app = setup.with("LOG_FORMAT", "json").start().await;
    let (ann, key, stored) = user_with_key(&app, "ann").await;
    ann.turn_on_second_factor(&app.bearer).await;
    let proxy = proxy_address(&app);
    let password = proxy.with_basic("ann", &ann.password);
    password
        .get("/authorize")
        .await
        .expect_detail(401, "One-time code required.");

    let program = proxy.with_basic("ann", &key);
    let check_key = || {
        let credentials = STANDARD.encode(format!("ann:{key}"));
        check(Some("*"), Some(&format!("Basic {credentials}")))
    };
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    for query in ["", "?roles=user"] {
        let passed = program.get(&format!("/authorize{query}")).await;
        passed
            .expect(200)
            .expect_header("rolegate-username", Some("ann"));
        passed.expect_header("rolegate-role", Some("user"));
    }
    // The key acts with its own role, although its user has a higher one.
    program
        .get("/authorize?roles=author")
        .await
        .expect_detail(403, "Insufficient privileges.");
    decide(&envoy, check_key())
        .await
        .expect_passed(ann.id, "ann", "user");
    let form = format!("token={key}");
    let request = program.request(Method::POST, "/introspect").body(form);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let introspected = program.send(request).await;
    assert_eq!(introspected.expect(200).json()["active"], true);

    let used = audit(app.auth(), "api_key_used", 1).await;
    assert_eq!(used[0]["key_id"], stored["id"]);
    let metrics = scrape(app.auth()).await;
    let accepted = r#"rolegate_api_keys_presented_total{outcome="accepted"}"#;
    assert!(value(&metrics, accepted) > 4.5, "{metrics}");
    let checked = r#"rolegate_logins_total{method="basic",outcome="OK"}"#;
    assert!(!metrics.contains(checked), "{metrics}");

    // The Basic address accepts only the password, because its contract knows only the stored hash.
    app.basic
        .with_basic("ann", &key)
        .get("/protected")
        .await
        .expect_detail(401, "Invalid username or password.");

    let path = format!("/profile/keys/{}", stored["id"]);
    let itself = app.bearer.with_token(&key);
    itself
        .send(itself.request(Method::DELETE, &path))
        .await
        .expect(200);
    program
        .get("/authorize")
        .await
        .expect_detail(401, "Invalid username or password.");
    decide(&envoy, check_key())
        .await
        .expect_refused(16, 401, "Invalid username or password.");
}

async fn a_key_passes_in_a_full_window_in_which_the_password_does_not(setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "2").start().await;
    let (ann, key, _) = user_with_key(&app, "ann").await;
    let proxy = proxy_address(&app);
    let guesser = proxy.with_basic("ann", "wrong");
    for _ in 0..2 {
        guesser.get("/authorize").await.expect(401);
    }
    guesser.get("/authorize").await.expect(429);
    let password = proxy.with_basic("ann", &ann.password);
    password.get("/authorize").await.expect(429);
    let program = proxy.with_basic("ann", &key);
    // Sends one request alone, and then many that may share calls to auth-service.
    program.get("/authorize").await.expect(200);
    let many = (0..32).map(|_| program.get("/authorize"));
    for passed in futures_util::future::join_all(many).await {
        passed.expect(200);
    }
    password.get("/authorize").await.expect(429);
}

async fn keys_of_others_and_ended_ones_count_as_wrong_passwords(setup: TestSetup) {
    let setup = setup.with("LOGIN_FAILURE_LIMIT", "2");
    let app = setup.with("LOG_FORMAT", "json").start().await;
    let (ann, key, stored) = user_with_key(&app, "ann").await;
    app.user("bob").await;
    let owner = app.bearer.with_token(&ann.token);
    let (ended, ended_stored) = create_key(&owner, &json!({ "name": "old" })).await;
    let path = format!("/profile/keys/{}", ended_stored["id"]);
    owner
        .send(owner.request(Method::DELETE, &path))
        .await
        .expect(200);
    let proxy = proxy_address(&app);
    for (username, password) in [("bob", &key), ("stranger", &key), ("ann", &ended)] {
        let caller = proxy.with_basic(username, password);
        for _ in 0..2 {
            caller
                .get("/authorize")
                .await
                .expect_detail(401, "Invalid username or password.");
        }
        caller.get("/authorize").await.expect(429);
    }
    proxy
        .with_basic("ann", &key)
        .get("/authorize")
        .await
        .expect(200);
    let failed = audit(app.auth(), "login_failed", 6).await;
    assert!(failed.iter().all(|line| line["method"] == "basic"));
    let used = audit(app.auth(), "api_key_used", 1).await;
    assert_eq!(used[0]["key_id"], stored["id"]);
    let refused = r#"rolegate_api_keys_presented_total{outcome="refused"}"#;
    let refused = value(&scrape(app.auth()).await, refused);
    assert!(refused < 0.5, "{refused}");
}
