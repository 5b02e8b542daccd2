//! API keys that admins create for other users, such as the users of services.

use crate::sessions::create_session;
use e2e::{Api, TestResponse, TestSetup, for_all_deployments, for_one_deployment};
use reqwest::Method;
use serde_json::{Value, json};

for_all_deployments!(an_admin_creates_lists_and_deletes_keys_of_another_user);
for_one_deployment!(
    only_an_admin_in_person_creates_keys_of_others,
    invalid_keys_of_others_are_refused_when_they_are_made,
);

/// Returns the new key, and the rest of the response.
fn of_creation(response: &TestResponse, path: &str) -> (String, Value) {
    let mut stored = response.expect(201).json();
    response.expect_header("location", Some(&format!("{path}/{}", stored["id"])));
    let key = stored
        .as_object_mut()
        .and_then(|stored| stored.remove("key"))
        .expect("a key");
    let key = key.as_str().expect("a string").to_owned();
    assert!(key.starts_with("rgk_") && key.len() == 47, "{key}");
    (key, stored)
}

async fn delete(api: &Api, path: &str) -> TestResponse {
    api.send(api.request(Method::DELETE, path)).await
}

async fn an_admin_creates_lists_and_deletes_keys_of_another_user(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user_with_role("ann", "author").await);
    let (session, _) = create_session(&app.bearer, "admin", &admin.password).await;
    let path = format!("/users/{}/keys", ann.id);
    let own = app.bearer.with_token(&ann.token);
    let body = json!({ "name": "own" });
    let own_key = own.post("/profile/keys", &body).await.expect(201).json();
    assert_eq!(own_key.get("created_by"), None, "{own_key}");
    for (credential, role, acts_as) in [
        (&admin.token, "author", "author"),
        (&session, "user", "user"),
    ] {
        let as_admin = app.bearer.with_token(credential);
        let body =
            json!({ "name": "nightly é", "role": role, "expires_at": "2099-01-01T00:00:00Z" });
        let (key, stored) = of_creation(&as_admin.post(&path, &body).await, &path);
        assert_eq!(stored["created_by"], "admin", "{stored}");
        let profile = json!({ "message": "Welcome ann!", "role": acts_as });
        app.bearer
            .with_token(&key)
            .get("/profile")
            .await
            .expect_json(200, &profile);
        for (api, path) in [(&as_admin, path.as_str()), (&own, "/profile/keys")] {
            let keys = api.get(path).await.expect(200).json()["keys"].clone();
            assert_eq!(
                keys[0].get("created_by"),
                None,
                "one's own is as ever: {keys}"
            );
            let last = keys.as_array().and_then(|keys| keys.last()).expect("a key");
            let names = ["id", "name", "role", "expires_at", "created_by"];
            assert_eq!(
                names.map(|name| &last[name]),
                names.map(|name| &stored[name])
            );
        }
        delete(&as_admin, &format!("{path}/{}", stored["id"]))
            .await
            .expect(200);
        app.bearer
            .with_token(&key)
            .get("/profile")
            .await
            .expect(401);
    }
    let as_admin = app.bearer.with_token(&session);
    let body = json!({ "name": "last", "role": "author" });
    let (key, stored) = of_creation(&as_admin.post(&path, &body).await, &path);
    // The key has no higher role than its user has now, and the user may delete it, too.
    let role = json!({ "role": "user" });
    app.set_role(&admin, &ann, "user").await.expect(200);
    assert_eq!(
        app.bearer.with_token(&key).get("/me").await.json()["role"],
        role["role"]
    );
    delete(&own, &format!("/profile/keys/{}", stored["id"]))
        .await
        .expect(200);
    app.bearer.with_token(&key).get("/me").await.expect(401);
}

async fn only_an_admin_in_person_creates_keys_of_others(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let path = format!("/users/{}/keys", ann.id);
    let body = json!({ "name": "a", "role": "user" });
    app.bearer
        .post(&path, &body)
        .await
        .expect_detail(401, "Not authenticated.");
    let as_admin = app.bearer.with_token(&admin.token);
    let key = as_admin
        .post("/profile/keys", &json!({ "name": "admin's" }))
        .await
        .expect(201)
        .json();
    let key = key["key"].as_str().expect("a key").to_owned();
    for credential in [&bob.token, &ann.token, &key] {
        let api = app.bearer.with_token(credential);
        // The credential is refused before the path and the body are read.
        for (path, body) in [(path.as_str(), &body), ("/users/x/keys", &json!({}))] {
            api.post(path, body)
                .await
                .expect_detail(403, "Insufficient privileges.");
        }
    }
    let boss = app.user_with_role("boss", "admin").await;
    for id in [boss.id, admin.id] {
        let refused = as_admin.post(&format!("/users/{id}/keys"), &body).await;
        refused.expect_detail(400, "An admin creates their own API keys.");
        refused.expect_header("rolegate-reason", Some("API_KEY_INVALID"));
    }
    as_admin
        .post("/users/999999/keys", &body)
        .await
        .expect_detail(404, "User not found.");
    let not_a_number = "Path parameter \"user_id\" must be an integer.";
    as_admin
        .post("/users/x/keys", &body)
        .await
        .expect_detail(400, not_a_number);
    app.set_role(&boss, &admin, "author").await.expect(200);
    as_admin
        .post(&path, &body)
        .await
        .expect_detail(403, "Insufficient privileges.");
    assert_eq!(app.database.count_rows("SELECT 1 FROM api_key").await, 1);
}

async fn invalid_keys_of_others_are_refused_when_they_are_made(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}/keys", ann.id);
    for (body, detail) in [
        (
            json!({ "role": "user" }),
            "Field \"name\" is required and must be a string.",
        ),
        (
            json!({ "name": "a", "role": 1 }),
            "Field \"role\" must be a string.",
        ),
        (
            json!({ "name": " a", "role": "user" }),
            "API key name must not begin or end with white space.",
        ),
        (
            json!({ "name": "a", "role": "user", "expires_at": "2020-01-01T00:00:00Z" }),
            "API key expiry must be in the future.",
        ),
        (json!({ "name": "a", "role": "admin" }), "Invalid role."),
        (json!({ "name": "a", "role": "editor" }), "Invalid role."),
        (json!({ "name": "a", "role": "" }), "Invalid role."),
        (json!({ "name": "a", "role": "User" }), "Invalid role."),
    ] {
        as_admin.post(&path, &body).await.expect_detail(400, detail);
    }
    // An admin must say which role the key gets.
    let detail = as_admin
        .post(&path, &json!({ "name": "a" }))
        .await
        .expect_error(400);
    assert!(detail.contains("role"), "{detail}");
    as_admin
        .get(&path)
        .await
        .expect_json(200, &json!({ "keys": [] }));
    for index in 0..50 {
        let body = json!({ "name": format!("key {index}"), "role": "user" });
        as_admin.post(&path, &body).await.expect(201);
    }
    let one_more = as_admin
        .post(&path, &json!({ "name": "a", "role": "user" }))
        .await;
    one_more.expect_detail(400, "A user can have at most 50 API keys.");
}
