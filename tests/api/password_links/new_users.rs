//! `POST /users` without a password: the new user chooses one at the link in the response.

use super::{DONE, WRONG_PASSWORD, expect_invalid, new_link, redeem, token_in};
use crate::api_keys::create_key;
use e2e::{TestSetup, TestUser, for_one_deployment, for_two_deployments};
use serde_json::json;

for_two_deployments!(a_user_without_a_password_cannot_log_in_before_choosing_one);
for_one_deployment!(an_invalid_user_gets_no_link_and_nothing_is_created);

async fn a_user_without_a_password_cannot_log_in_before_choosing_one(setup: TestSetup) {
    let app = setup.with("REGISTRATION", "closed").start().await;
    let admin = app.admin().await;
    let key = admin.key(&app.bearer).await.token;
    // An API key may create users this way, too: otherwise it would have to know their passwords.
    for (credential, name, role) in [
        (&admin.token, "ann", None),
        (&admin.token, "bob", Some("author")),
        (&key, "eve", None),
    ] {
        let mut body = json!({ "username": name });
        if let Some(role) = role {
            body["role"] = role.into();
        }
        let created = app
            .bearer
            .with_token(credential)
            .post("/users", &body)
            .await;
        let shown = created.expect(201).json();
        let id = shown["id"].as_i64().expect("an id");
        let role = role.unwrap_or("user");
        let link = shown["password_link"].clone();
        let user = json!({ "id": id, "username": name, "role": role, "disabled": false });
        let mut expected = user.clone();
        expected["password_link"] = link.clone();
        created.expect_json(201, &expected);
        created.expect_header("location", Some(&format!("/users/{id}")));
        assert_eq!(
            link.as_object().map(serde_json::Map::len),
            Some(2),
            "{created}"
        );
        let token = token_in(&link, "");
        let as_admin = app.bearer.with_token(&admin.token);
        as_admin
            .get(&format!("/users/{id}"))
            .await
            .expect_json(200, &user);

        let stored = app.database.user(name).await.expect("stored").password;
        for password in ["", "!", "*", "otp:", "null", &*stored, &*token] {
            app.try_log_in(name, password)
                .await
                .expect_detail(401, WRONG_PASSWORD);
            let basic = app.basic.with_basic(name, password).get("/protected").await;
            basic.expect_detail(401, WRONG_PASSWORD);
        }
        redeem(&app.bearer, &token, "chosen")
            .await
            .expect_message(DONE);
        expect_invalid(&redeem(&app.bearer, &token, "again").await);
        let user = TestUser::log_in(&app.bearer, name, "chosen").await;
        assert_eq!(user.id, id);
        let status = if role == "author" { 200 } else { 403 };
        app.bearer
            .with_token(&user.token)
            .get("/author")
            .await
            .expect(status);
    }
    // A link of the response is like any other of its user: an admin may create another one, which
    // replaces it.
    let body = json!({ "username": "carl" });
    let created = app
        .bearer
        .with_token(&admin.token)
        .post("/users", &body)
        .await;
    let created = created.expect(201).json();
    let first = token_in(&created["password_link"], "");
    let second = new_link(&app, &admin, created["id"].as_i64().expect("an id")).await;
    expect_invalid(&redeem(&app.bearer, &first, "chosen").await);
    redeem(&app.bearer, &second, "chosen")
        .await
        .expect_message(DONE);
    app.try_log_in("carl", "chosen").await.expect(200);
}

async fn an_invalid_user_gets_no_link_and_nothing_is_created(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    for (body, detail) in [
        (json!({ "username": "admin" }), "Username already exists."),
        (json!({ "username": "ann" }), "Username already exists."),
        (
            json!({ "username": "a:b" }),
            "Username must not contain a colon.",
        ),
        (
            json!({ "username": "bob", "role": "root" }),
            "Invalid role.",
        ),
        (
            json!({}),
            "Field \"username\" is required and must be a string.",
        ),
    ] {
        as_admin
            .post("/users", &body)
            .await
            .expect_detail(400, detail);
    }
    for password in [json!(null), json!(7), json!(["x"])] {
        let body = json!({ "username": "bob", "password": password });
        let detail = as_admin.post("/users", &body).await.expect_error(400);
        assert!(detail.contains("\"password\""), "{detail}");
    }
    let (weak, _) = create_key(&as_admin, &json!({ "name": "weak", "role": "author" })).await;
    for credential in [&ann.token, &weak] {
        let api = app.bearer.with_token(credential);
        let refused = api.post("/users", &json!({ "username": "bob" })).await;
        refused.expect_detail(403, "Insufficient privileges.");
    }
    assert_eq!(app.database.count_users().await, 2);
    assert_eq!(
        app.database.count_rows("SELECT 1 FROM password_link").await,
        0
    );
    // If the name is taken, the password of its user stays as it was.
    app.try_log_in("ann", &ann.password).await.expect(200);
}
