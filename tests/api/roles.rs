//! `PUT /users/{user_id}/role`, and when a role takes effect.

use e2e::{
    TestApp, TestResponse, TestSetup, TestUser, for_all_deployments, for_one_deployment,
    for_two_deployments,
};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

for_all_deployments!(
    new_role_takes_effect_at_once_with_the_old_token,
    role_changed_by_sql_takes_effect_at_once_with_the_old_token,
    user_deleted_by_sql_is_not_found,
);
for_two_deployments!(
    any_role_can_be_changed_to_any_role,
    admin_can_demote_themselves_with_immediate_effect,
);
for_one_deployment!(unknown_role_is_rejected, checks_run_in_the_documented_order);

async fn profile_says(app: &TestApp, user: &TestUser, role: &str) {
    let response = app.bearer.with_token(&user.token).get("/profile").await;
    let message = format!("Welcome {}!", user.username);
    response.expect_json(200, &json!({ "message": message, "role": role }));
}

async fn author_endpoint(app: &TestApp, user: &TestUser) -> TestResponse {
    app.bearer.with_token(&user.token).get("/author").await
}

pub(crate) async fn new_role_takes_effect_at_once_with_the_old_token(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    for _ in 0..20 {
        author_endpoint(&app, &ann)
            .await
            .expect_detail(403, "Insufficient privileges.");
        profile_says(&app, &ann, "user").await;
        let response = app.set_role(&admin, &ann, "author").await;
        response.expect_message("User role updated successfully.");
        author_endpoint(&app, &ann)
            .await
            .expect_message("Welcome Author!");
        profile_says(&app, &ann, "author").await;
        app.set_role(&admin, &ann, "user").await.expect(200);
    }
}

async fn role_changed_by_sql_takes_effect_at_once_with_the_old_token(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    for _ in 0..10 {
        author_endpoint(&app, &ann)
            .await
            .expect_detail(403, "Insufficient privileges.");
        app.database.set_role("ann", "admin").await;
        author_endpoint(&app, &ann)
            .await
            .expect_message("Welcome Author!");
        let admin = app.bearer.with_token(&ann.token).get("/admin").await;
        admin.expect_message("Welcome Admin!");
        profile_says(&app, &ann, "admin").await;
        app.database.set_role("ann", "user").await;
    }
}

async fn user_deleted_by_sql_is_not_found(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    profile_says(&app, &ann, "user").await;
    app.database.delete("ann").await;
    for path in ["/profile", "/author", "/admin", "/users"] {
        let response = app.bearer.with_token(&ann.token).get(path).await;
        response.expect_detail(401, "User not found.");
        response.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    }
    app.set_role(&ann, &admin, "user")
        .await
        .expect_detail(401, "User not found.");
    app.set_role(&admin, &ann, "user")
        .await
        .expect_detail(404, "User not found.");
    // A new user with that name does not inherit the token.
    let successor = app.user("ann").await;
    assert_ne!(successor.id, ann.id, "ids are never given out twice");
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect(401);
}

pub(crate) async fn any_role_can_be_changed_to_any_role(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    for from in ["user", "author", "admin"] {
        for to in ["user", "author", "admin"] {
            app.set_role(&admin, &ann, from).await.expect(200);
            app.set_role(&admin, &ann, to).await.expect(200);
            profile_says(&app, &ann, to).await;
            assert_eq!(app.database.user("ann").await.expect("stored").role, to);
        }
    }
}

async fn admin_can_demote_themselves_with_immediate_effect(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    app.user_with_role("ann", "admin").await;
    app.set_role(&admin, &admin, "author").await.expect(200);
    app.set_role(&admin, &admin, "admin")
        .await
        .expect_detail(403, "Insufficient privileges.");
    profile_says(&app, &admin, "author").await;
}

async fn unknown_role_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    for role in [
        "",
        "Admin",
        "ADMIN",
        " admin",
        "admin ",
        "root",
        "ROLE_ADMIN",
        "3",
        "admin\0",
        "\0",
        "ädmin",
    ] {
        app.set_role(&admin, &ann, role)
            .await
            .expect_detail(400, "Invalid role.");
    }
    profile_says(&app, &ann, "user").await;
}

/// Sends requests that fail the expected check and every check after it, which shows the order of
/// the checks.
async fn checks_run_in_the_documented_order(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let unknown = "/users/999999999/role";
    let known = format!("/users/{}/role", ann.id);
    let huge = "x".repeat(100 * 1024);
    let put = async |token: Option<&str>, path: &str, content_type: &str, body: &str| {
        let api = token.map_or_else(|| app.bearer.clone(), |token| app.bearer.with_token(token));
        let request = api
            .request(Method::PUT, path)
            .header(CONTENT_TYPE, content_type);
        api.send(request.body(body.to_owned())).await
    };
    let (json, text) = ("application/json", "text/plain");
    let wrong_role = r#"{"role":"nonsense"}"#;

    put(None, unknown, text, &huge)
        .await
        .expect_detail(401, "Not authenticated.");
    put(Some("bad"), unknown, text, &huge)
        .await
        .expect_detail(401, "Invalid or expired token.");
    let response = put(Some(&ann.token), unknown, text, &huge).await;
    response.expect_detail(403, "Insufficient privileges.");
    let actor = Some(admin.token.as_str());
    put(actor, unknown, text, &huge).await.expect_error(413);
    put(actor, unknown, text, "{").await.expect_error(415);
    put(actor, unknown, json, "{").await.expect_error(400);
    put(actor, unknown, json, r#"{"role":7}"#)
        .await
        .expect_error(400);
    put(actor, unknown, json, wrong_role)
        .await
        .expect_detail(404, "User not found.");
    put(actor, &known, json, wrong_role)
        .await
        .expect_detail(400, "Invalid role.");
    put(actor, &known, json, r#"{"role":"author"}"#)
        .await
        .expect(200);

    put(None, "/users/x/role", json, "{").await.expect(401);
    put(Some(&ann.token), "/users/x/role", json, "{")
        .await
        .expect(403);
    put(actor, "/users/x/role", json, wrong_role)
        .await
        .expect_error(400);
}
