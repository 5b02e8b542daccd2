//! `POST /users`, with which an admin creates users.

use e2e::{
    ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, TestUser, for_one_deployment,
    for_two_deployments,
};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::{Value, json};

for_two_deployments!(admin_creates_users_while_registration_is_closed);
for_one_deployment!(
    invalid_user_is_refused_and_nothing_is_created,
    checks_run_in_the_documented_order,
);

async fn create(app: &TestApp, actor: &TestUser, body: &Value) -> TestResponse {
    app.bearer
        .with_token(&actor.token)
        .post("/users", body)
        .await
}

async fn admin_creates_users_while_registration_is_closed(setup: TestSetup) {
    let app = setup.with("REGISTRATION", "closed").start().await;
    let admin = app.admin().await;
    app.try_register("ann", "sesame").await.expect(403);
    for (name, role) in [
        ("ann", None),
        ("bob", Some("author")),
        ("carl", Some("admin")),
    ] {
        let mut body = json!({ "username": name, "password": "sesame" });
        if let Some(role) = role {
            body["role"] = role.into();
        }
        let created = create(&app, &admin, &body).await;
        let id = created.expect(201).json()["id"].as_i64().expect("an id");
        let role = role.unwrap_or("user");
        let body = json!({ "id": id, "username": name, "role": role, "disabled": false });
        created.expect_json(201, &body);
        let location = created.header("location").expect("a location");
        assert_eq!(location, format!("/users/{id}"));
        let shown = app.bearer.with_token(&admin.token).get(location).await;
        assert_eq!(shown.expect(200).json(), created.json());
        let user = TestUser::log_in(&app.bearer, name, "sesame").await;
        assert_eq!(user.id, id);
        let status = if role == "admin" { 200 } else { 403 };
        app.bearer
            .with_token(&user.token)
            .get("/admin")
            .await
            .expect(status);
    }
}

async fn invalid_user_is_refused_and_nothing_is_created(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let too_long = "x".repeat(73);
    for (body, detail) in [
        (
            json!({ "username": "admin", "password": "x" }),
            "Username already exists.",
        ),
        (
            json!({ "username": "a:b", "password": "x" }),
            "Username must not contain a colon.",
        ),
        (
            json!({ "username": "admin\u{200b}", "password": "x" }),
            "Username must not contain invisible or unassigned characters.",
        ),
        (
            json!({ "username": "a", "password": "" }),
            "Password must have at least 1 byte.",
        ),
        (
            json!({ "username": "a", "password": too_long }),
            "Password must have at most 72 bytes.",
        ),
        (
            json!({ "username": "a", "password": "x", "role": "root" }),
            "Invalid role.",
        ),
        (
            json!({ "username": "a", "password": "x", "role": "" }),
            "Invalid role.",
        ),
        (
            json!({ "username": "a", "password": "x", "role": 3 }),
            "Field \"role\" must be a string.",
        ),
        (
            json!({ "username": "a", "password": "x", "role": null }),
            "Field \"role\" must be a string.",
        ),
        (
            json!({ "username": "a", "password": null }),
            "Field \"password\" must be a string.",
        ),
        (
            json!({ "username": "a", "password": 1 }),
            "Field \"password\" must be a string.",
        ),
    ] {
        create(&app, &admin, &body).await.expect_detail(400, detail);
    }
    app.bearer
        .with_token(&admin.token)
        .get("/users/2")
        .await
        .expect(404);
    assert_eq!(app.database.count_users().await, 1);
}

/// Sends requests that fail the expected check and every check after it, which shows the order of
/// the checks.
async fn checks_run_in_the_documented_order(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let send = async |token: Option<&str>, content_type: &str, body: &str| {
        let api = token.map_or_else(|| app.bearer.clone(), |token| app.bearer.with_token(token));
        let request = api
            .request(Method::POST, "/users")
            .header(CONTENT_TYPE, content_type);
        api.send(request.body(body.to_owned())).await
    };
    let (json, text) = ("application/json", "text/plain");
    send(None, text, "{")
        .await
        .expect_detail(401, "Not authenticated.");
    send(Some("bad"), text, "{")
        .await
        .expect_detail(401, "Invalid or expired token.");
    send(Some(&ann.token), text, "{")
        .await
        .expect_detail(403, "Insufficient privileges.");
    let actor = Some(&*admin.token);
    send(actor, text, "{").await.expect_error(415);
    send(actor, json, "{")
        .await
        .expect_detail(400, "Request body is not valid JSON.");
    let all_wrong = r#"{"username":"","password":"","role":"root"}"#;
    let detail = send(actor, json, all_wrong).await.expect_error(400);
    assert!(detail.starts_with("Username"), "{detail}");
    let two_wrong = r#"{"username":"admin","password":"","role":"root"}"#;
    let detail = send(actor, json, two_wrong).await.expect_error(400);
    assert!(detail.starts_with("Password"), "{detail}");
    let role_wrong = r#"{"username":"admin","password":"x","role":"root"}"#;
    send(actor, json, role_wrong)
        .await
        .expect_detail(400, "Invalid role.");
    app.try_log_in("admin", ADMIN_PASSWORD).await.expect(200);
}
