//! `SECOND_FACTOR=admins`: an admin without a second factor has no rights of an admin, but can turn
//! one on.

use super::{OFF, REQUIRED as CODE_REQUIRED, state, try_session, turn_off};
use crate::sessions::of_creation;
use e2e::{
    Api, TestApp, TestResponse, TestSetup, TestUser, ext_authz, for_all_deployments,
    for_two_deployments, second_factor::PATH, until_served,
};
use reqwest::Method;
use serde_json::json;

for_all_deployments!(an_admin_without_a_second_factor_is_none_by_any_credential_until_it_is_on);
for_two_deployments!(other_roles_need_no_second_factor);

const REQUIRED: &str = "Second factor required.";

/// Restarts auth-service with the setting, so that all credentials so far are older than it.
async fn require(app: &mut TestApp) {
    app.kill_auth().await;
    app.start_auth(Some(("SECOND_FACTOR", "admins"))).await;
    until_served(async || app.try_log_in("stranger", "wrong").await)
        .await
        .expect(401);
}

#[track_caller]
fn expect_required(response: &TestResponse) {
    response.expect_detail(403, REQUIRED);
    response.expect_header("rolegate-reason", Some("SECOND_FACTOR_REQUIRED"));
}

/// Returns the responses to a credential at the endpoints of admins.
async fn at_admin_endpoints(app: &TestApp, credential: &str) -> Vec<TestResponse> {
    let api = app.bearer.with_token(credential);
    vec![
        api.get("/admin").await,
        api.get("/users").await,
        api.get("/users/1").await,
        api.get("/roles").await,
        api.get("/audit").await,
        api.put("/users/999999/role", &json!({ "role": "author" }))
            .await,
        api.send(
            api.request(Method::PATCH, "/users/999999")
                .json(&json!({ "disabled": true })),
        )
        .await,
        api.delete("/users/999999").await,
        api.delete("/users/999999/tokens").await,
    ]
}

async fn expect_no_admin(app: &TestApp, boss: &TestUser, credential: &str) {
    for response in at_admin_endpoints(app, credential).await {
        expect_required(&response);
    }
    let api = app.bearer.with_token(credential);
    expect_required(
        &api.post("/users", &json!({ "username": "by the boss" }))
            .await,
    );
    let post = json!({ "title": "by the boss", "content": "some content" });
    expect_required(&until_served(async || api.post("/posts", &post).await).await);
    // The user still has the role, and may do what any user may.
    let profile = json!({ "message": "Welcome boss!", "role": "admin" });
    api.get("/profile").await.expect_json(200, &profile);
    api.get("/me").await.expect(200);
    api.get("/posts").await.expect(200);
    let proxy = Api::at(&app.gateway().address("forward")).with_token(credential);
    for roles in ["admin", "author,admin"] {
        expect_required(&proxy.get(&format!("/authorize?roles={roles}")).await);
    }
    for path in ["/authorize", "/authorize?roles=user"] {
        proxy
            .get(path)
            .await
            .expect(200)
            .expect_header("rolegate-role", Some("user"));
    }
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    let ask = async |roles: &str| {
        let check = ext_authz::check(Some(roles), Some(&format!("Bearer {credential}")));
        ext_authz::decide(&envoy, check).await
    };
    ask("admin").await.expect_refused(7, 403, REQUIRED);
    ask("*").await.expect_passed(boss.id, "boss", "user");
}

async fn expect_admin(app: &TestApp, boss: &TestUser, credential: &str) {
    for response in at_admin_endpoints(app, credential).await {
        assert!([200, 404].contains(&response.status), "{response}");
    }
    let proxy = Api::at(&app.gateway().address("forward")).with_token(credential);
    let passed = proxy.get("/authorize?roles=admin").await;
    passed
        .expect(200)
        .expect_header("rolegate-role", Some("admin"));
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    let check = ext_authz::check(Some("admin"), Some(&format!("Bearer {credential}")));
    ext_authz::decide(&envoy, check)
        .await
        .expect_passed(boss.id, "boss", "admin");
}

async fn an_admin_without_a_second_factor_is_none_by_any_credential_until_it_is_on(
    setup: TestSetup,
) {
    let mut app = setup.start().await;
    let boss = app.user_with_role("boss", "admin").await;
    let key = boss.key(&app.bearer).await.token;
    let session = boss.session(&app.bearer).await.token;
    require(&mut app).await;
    // Credentials that are created now grant no more than older ones.
    let new = TestUser::log_in(&app.bearer, "boss", &boss.password).await;
    let new_session = boss.session(&app.bearer).await.token;
    for credential in [&key, &boss.token, &session, &new.token, &new_session] {
        expect_no_admin(&app, &boss, credential).await;
    }
    let basic = app.basic.with_basic("boss", &boss.password);
    basic.get("/protected").await.expect(200);
    let proxy = Api::at(&app.gateway().address("forward"));
    let by_password = proxy.with_basic("boss", &boss.password);
    by_password.get("/authorize?roles=admin").await.expect(403);
    // An API key that is created now does not grant the rights of an admin either.
    let weak = new.key(&app.bearer).await.token;
    app.bearer.with_token(&weak).get("/admin").await.expect(403);

    let factor = boss.turn_on_second_factor(&app.bearer).await;
    app.try_log_in("boss", &boss.password)
        .await
        .expect_detail(401, CODE_REQUIRED);
    let boss = boss
        .log_in_with_code(&app.bearer, &factor.next_code())
        .await;
    let by_code = try_session(&app.bearer, &boss, &factor.recovery_codes[0]).await;
    let session = of_creation(&by_code).0;
    for credential in [&key, &boss.token, &session] {
        expect_admin(&app, &boss, credential).await;
    }
    by_password
        .get("/authorize?roles=admin")
        .await
        .expect_detail(401, CODE_REQUIRED);
    // Without the second factor, the credentials lose the rights of an admin from the next request
    // on.
    let off = turn_off(
        &app.bearer.with_token(&boss.token),
        &factor.recovery_codes[1],
    )
    .await;
    off.expect_message(OFF);
    for credential in [&key, &boss.token, &session] {
        expect_no_admin(&app, &boss, credential).await;
    }
}

async fn other_roles_need_no_second_factor(setup: TestSetup) {
    let mut app = setup.start().await;
    let (ann, bob) = (
        app.user_with_role("ann", "author").await,
        app.user("bob").await,
    );
    require(&mut app).await;
    for (user, role) in [(&ann, "author"), (&bob, "user")] {
        app.try_log_in(&user.username, &user.password)
            .await
            .expect(200);
        let own = app.bearer.with_token(&user.token);
        own.get("/author")
            .await
            .expect(if role == "author" { 200 } else { 403 });
        own.get("/admin")
            .await
            .expect_detail(403, "Insufficient privileges.");
        assert_eq!(own.get("/profile").await.expect(200).json()["role"], role);
        own.get(PATH).await.expect_json(200, &state(false, 0));
    }
    // Users with other roles may turn on a second factor, too.
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let ann = ann.log_in_with_code(&app.bearer, &factor.next_code()).await;
    let own = app.bearer.with_token(&ann.token);
    own.get("/author").await.expect(200);
    own.get("/admin")
        .await
        .expect_detail(403, "Insufficient privileges.");
}
