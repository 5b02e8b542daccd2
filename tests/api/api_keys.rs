//! API keys over HTTP and gRPC.

use e2e::{
    Api, TestApp, TestResponse, TestSetup, TestUser, for_all_deployments, for_one_deployment,
    for_two_deployments, grpc,
};
use reqwest::Method;
use rolegate_proto::auth_v1::{
    AllowedRoles, AnyAuthenticated, AuthorizeRequest, BatchAuthorizeRequest, Role,
    authorize_outcome::Outcome, authorize_request::Requirement,
};
use serde_json::{Value, json};

for_all_deployments!(
    key_is_accepted_wherever_a_token_is,
    key_has_the_lower_of_both_roles_from_the_next_request_on,
);
for_two_deployments!(
    bad_keys_of_every_kind_get_one_response,
    concurrent_creation_makes_exactly_fifty_keys,
    keys_are_listed_and_deleted_by_their_user_and_by_admins,
);
for_one_deployment!(
    key_cannot_do_what_only_a_person_may,
    invalid_keys_are_refused_when_they_are_made,
);

pub(crate) async fn create_key(api: &Api, body: &Value) -> (String, Value) {
    let response = api.post("/profile/keys", body).await;
    let mut stored = response.expect(201).json();
    let location = format!("/profile/keys/{}", stored["id"]);
    response.expect_header("location", Some(&location));
    let key = stored
        .as_object_mut()
        .and_then(|stored| stored.remove("key"))
        .expect("a key");
    let key = key.as_str().expect("a string").to_owned();
    assert!(key.starts_with("rgk_") && key.len() == 47, "{key}");
    assert_eq!(stored["prefix"], key[..8]);
    (key, stored)
}

async fn delete(api: &Api, path: &str) -> TestResponse {
    api.send(api.request(Method::DELETE, path)).await
}

fn as_user(app: &TestApp, user: &TestUser) -> Api {
    app.bearer.with_token(&user.token)
}

async fn key_is_accepted_wherever_a_token_is(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let (key, _) = create_key(&as_user(&app, &ann), &json!({ "name": "export" })).await;
    let api = app.bearer.with_token(&key);
    let profile = json!({ "message": "Welcome ann!", "role": "author" });
    api.get("/profile").await.expect_json(200, &profile);
    api.get("/author").await.expect_message("Welcome Author!");
    api.get("/admin")
        .await
        .expect_detail(403, "Insufficient privileges.");
    let post = json!({ "title": "by a program", "content": "some content" });
    let made = api.post("/posts", &post).await;
    let made = made.expect(201).json();
    assert_eq!(
        (&made["author_id"], &made["author"]),
        (&json!(ann.id), &json!("ann"))
    );
    let path = format!("/posts/{}", made["id"]);
    api.put(&path, &post).await.expect(200);
    delete(&api, &path).await.expect(200);
    // An API key is not accepted as a password.
    app.basic
        .with_basic("ann", &key)
        .get("/protected")
        .await
        .expect(401);
    app.basic
        .with_token(&key)
        .get("/protected")
        .await
        .expect(401);

    let item = |credential: &str, requirement| AuthorizeRequest {
        access_token: credential.to_owned(),
        requirement: Some(requirement),
        client_address: None,
        from_cookie: false,
    };
    let any = || Requirement::AnyAuthenticated(AnyAuthenticated {});
    let admins = || {
        Requirement::Roles(AllowedRoles {
            role_names: vec!["admin".to_owned()],
            roles: vec![],
            group_names: vec![],
        })
    };
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let user = client
        .authorize(item(&key, any()))
        .await
        .expect("good")
        .into_inner()
        .user;
    let user = user.expect("a user");
    assert_eq!((user.id, user.role()), (ann.id, Role::Author));
    let refused = client.authorize(item(&key, admins())).await;
    grpc::expect_error(refused, tonic::Code::PermissionDenied, "ROLE_INSUFFICIENT");
    let unknown = format!("rgk_{}", "A".repeat(43));
    let items = vec![
        item(&ann.token, any()),
        item(&key, any()),
        item(&key, admins()),
        item(&unknown, any()),
    ];
    let batch = client
        .batch_authorize(BatchAuthorizeRequest { items })
        .await
        .expect("decided");
    let outcomes = batch
        .into_inner()
        .outcomes
        .into_iter()
        .map(|outcome| outcome.outcome);
    let refused = |reason: &str| Some(Outcome::RefusalReason(reason.to_owned()));
    let good = Some(Outcome::User(user));
    let expected = [
        good.clone(),
        good,
        refused("ROLE_INSUFFICIENT"),
        refused("TOKEN_INVALID"),
    ];
    assert_eq!(outcomes.collect::<Vec<_>>(), expected);
}

async fn key_has_the_lower_of_both_roles_from_the_next_request_on(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let own = as_user(&app, &ann);
    let proxy = Api::at(&app.gateway().address("forward"));
    let (free, _) = create_key(&own, &json!({ "name": "free" })).await;
    let (bound, stored) = create_key(&own, &json!({ "name": "bound", "role": "author" })).await;
    assert_eq!(stored["role"], "author");
    for (role, of_bound) in [
        ("user", "user"),
        ("admin", "author"),
        ("author", "author"),
        ("user", "user"),
    ] {
        app.set_role(&admin, &ann, role).await.expect(200);
        for (key, effective) in [(&free, role), (&bound, of_bound)] {
            let profile = app.bearer.with_token(key).get("/profile").await;
            assert_eq!(
                profile.expect(200).json()["role"],
                effective,
                "stored: {role}"
            );
            let proxied = proxy.with_token(key).get("/authorize").await;
            proxied
                .expect(200)
                .expect_header("rolegate-role", Some(effective));
            let status = if effective == "admin" { 200 } else { 403 };
            app.bearer
                .with_token(key)
                .get("/users")
                .await
                .expect(status);
        }
    }
}

async fn bad_keys_of_every_kind_get_one_response(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let own = as_user(&app, &ann);
    let (revoked, stored) = create_key(&own, &json!({ "name": "revoked" })).await;
    let (expired, _) = create_key(&own, &json!({ "name": "expired" })).await;
    let (disabled, _) = create_key(&as_user(&app, &bob), &json!({ "name": "of bob" })).await;
    for key in [&revoked, &expired, &disabled] {
        app.bearer.with_token(key).get("/profile").await.expect(200);
    }
    delete(&own, &format!("/profile/keys/{}", stored["id"]))
        .await
        .expect(200);
    app.database
        .execute("UPDATE api_key SET expires_at = 1 WHERE name = 'expired'")
        .await;
    let path = format!("/users/{}", bob.id);
    let update = as_user(&app, &admin).request(Method::PATCH, &path);
    app.bearer
        .send(update.json(&json!({ "disabled": true })))
        .await
        .expect(200);
    let unknown = format!("rgk_{}", "A".repeat(43));
    let first = app.bearer.with_token(&unknown).get("/profile").await;
    first.expect_detail(401, "Invalid or expired token.");
    first.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    let long = format!("rgk_{}", "A".repeat(5_000));
    for key in [
        "rgk_",
        "rgk_x",
        &long,
        &format!("{unknown}="),
        &revoked,
        &expired,
        &disabled,
    ] {
        let other = app.bearer.with_token(key).get("/profile").await;
        assert_eq!(other.comparable(), first.comparable(), "{key}");
    }
    let update = as_user(&app, &admin).request(Method::PATCH, &path);
    app.bearer
        .send(update.json(&json!({ "disabled": false })))
        .await
        .expect(200);
    app.bearer
        .with_token(&disabled)
        .get("/profile")
        .await
        .expect(200);
    delete(&as_user(&app, &admin), &path).await.expect(200);
    app.bearer
        .with_token(&disabled)
        .get("/profile")
        .await
        .expect_json(401, &first.json());
}

async fn concurrent_creation_makes_exactly_fifty_keys(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let own = as_user(&app, &ann);
    let lanes = (0..6).map(|lane| {
        let own = own.clone();
        tokio::spawn(async move {
            let mut made = 0;
            for index in 0..10 {
                let name = format!("key {lane} {index}");
                let response = own.post("/profile/keys", &json!({ "name": name })).await;
                match response.status {
                    201 => made += 1,
                    _ => _ = response.expect_detail(400, "A user can have at most 50 API keys."),
                }
            }
            made
        })
    });
    let mut made = 0;
    for lane in lanes.collect::<Vec<_>>() {
        made += lane.await.expect("it ended");
    }
    assert_eq!(made, 50);
    let listed = own.get("/profile/keys").await.expect(200).json();
    let keys = listed["keys"].as_array().expect("keys");
    assert_eq!(keys.len(), 50);
    delete(&own, &format!("/profile/keys/{}", keys[7]["id"]))
        .await
        .expect(200);
    create_key(&own, &json!({ "name": "in the free place" })).await;
    own.post("/profile/keys", &json!({ "name": "one more" }))
        .await
        .expect(400);
}

async fn key_cannot_do_what_only_a_person_may(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let (key, stored) = create_key(&as_user(&app, &admin), &json!({ "name": "admin's" })).await;
    let (other, _) = create_key(&as_user(&app, &admin), &json!({ "name": "other" })).await;
    let api = app.bearer.with_token(&key);
    let password = json!({ "current_password": admin.password, "new_password": "new" });
    let set = json!({ "password": "new" });
    for refused in [
        api.send(api.request(Method::POST, "/logout")).await,
        api.post("/profile/keys", &json!({ "name": "another" }))
            .await,
        // The key is refused before the body is read.
        api.post("/profile/keys", &json!({})).await,
        api.put("/profile/password", &password).await,
        api.put(&format!("/users/{}/password", ann.id), &set).await,
        delete(&api, "/profile/keys").await,
        delete(&api, &format!("/users/{}/keys", admin.id)).await,
        delete(&api, &format!("/users/{}/tokens", admin.id)).await,
    ] {
        refused.expect_detail(403, "Insufficient privileges.");
    }
    as_user(&app, &admin).get("/profile").await.expect(200);
    app.try_log_in("ann", &ann.password).await.expect(200);
    api.get("/profile/keys").await.expect(200);
    delete(&api, &format!("/users/{}/tokens", ann.id))
        .await
        .expect(200);
    delete(&api, &format!("/profile/keys/{}", stored["id"]))
        .await
        .expect(200);
    api.get("/profile").await.expect(401);
    app.bearer
        .with_token(&other)
        .get("/profile")
        .await
        .expect(200);
}

#[expect(
    clippy::too_many_lines,
    reason = "one story, whose later steps depend on the earlier ones"
)]
async fn keys_are_listed_and_deleted_by_their_user_and_by_admins(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let own = as_user(&app, &ann);
    let body = json!({ "name": "nightly é", "expires_at": "2099-01-01T00:00:00.5+01:00" });
    let (one, first) = create_key(&own, &body).await;
    assert_eq!(first["expires_at"], "2098-12-31T23:00:00.000Z");
    assert_eq!(
        (&first["name"], &first["role"]),
        (&json!("nightly é"), &Value::Null)
    );
    let created_at = first["created_at"].as_str().expect("a time");
    assert!(
        created_at.len() == 24 && created_at.contains(':') && created_at > "2020",
        "{first}"
    );
    let (two, second) = create_key(&own, &json!({ "name": "other" })).await;
    assert_eq!(
        (&second["expires_at"], &second["last_used_at"]),
        (&Value::Null, &Value::Null)
    );
    let both = json!({ "keys": [first, second] });
    own.get("/profile/keys").await.expect_json(200, &both);
    let as_admin = as_user(&app, &admin);
    let of_ann = format!("/users/{}/keys", ann.id);
    as_admin.get(&of_ann).await.expect_json(200, &both);
    as_user(&app, &bob)
        .get(&of_ann)
        .await
        .expect_detail(403, "Insufficient privileges.");
    as_user(&app, &bob)
        .get("/profile/keys")
        .await
        .expect_json(200, &json!({ "keys": [] }));
    as_admin
        .get("/users/999999/keys")
        .await
        .expect_detail(404, "User not found.");
    let path = format!("/profile/keys/{}", first["id"]);
    own.get(&path).await.expect_json(200, &first);
    for stranger in [as_user(&app, &bob), as_admin.clone()] {
        stranger
            .get(&path)
            .await
            .expect_detail(404, "API key not found.");
        delete(&stranger, &path)
            .await
            .expect_detail(404, "API key not found.");
    }
    app.bearer
        .with_token(&one)
        .get("/profile")
        .await
        .expect(200);
    delete(&own, &path).await.expect_message("API key deleted.");
    delete(&own, &path)
        .await
        .expect_detail(404, "API key not found.");
    app.bearer
        .with_token(&one)
        .get("/profile")
        .await
        .expect(401);
    let path = format!("{of_ann}/{}", second["id"]);
    as_admin.get(&path).await.expect_json(200, &second);
    delete(&as_admin, &path)
        .await
        .expect_message("API key deleted.");
    app.bearer
        .with_token(&two)
        .get("/profile")
        .await
        .expect(401);
    // Keys outlive a logout and a new password. Deleting all keys is a request of its own.
    let (three, _) = create_key(&own, &json!({ "name": "three" })).await;
    own.send(own.request(Method::POST, "/logout"))
        .await
        .expect(200);
    let set = json!({ "password": "another password" });
    as_admin
        .put(&format!("/users/{}/password", ann.id), &set)
        .await
        .expect(200);
    app.bearer
        .with_token(&three)
        .get("/profile")
        .await
        .expect(200);
    let ann = TestUser::log_in(&app.bearer, "ann", "another password").await;
    delete(&as_user(&app, &ann), "/profile/keys")
        .await
        .expect_message("API keys deleted.");
    app.bearer
        .with_token(&three)
        .get("/profile")
        .await
        .expect(401);
    delete(&as_admin, &of_ann)
        .await
        .expect_message("API keys deleted.");
}

async fn invalid_keys_are_refused_when_they_are_made(setup: TestSetup) {
    let app = setup.start().await;
    let own = as_user(&app, &app.user("ann").await);
    let time = "Field \"expires_at\" must be a time in RFC 3339, such as 2030-01-31T00:00:00Z.";
    for (body, detail) in [
        (
            json!({}),
            "Field \"name\" is required and must be a string.",
        ),
        (
            json!({ "name": 1 }),
            "Field \"name\" is required and must be a string.",
        ),
        (
            json!({ "name": "a", "role": 1 }),
            "Field \"role\" must be a string.",
        ),
        (
            json!({ "name": "a", "expires_at": null }),
            "Field \"expires_at\" must be a string.",
        ),
        (json!({ "name": "a", "expires_at": "tomorrow" }), time),
        (json!({ "name": "a", "expires_at": "2030-01-01" }), time),
        (
            json!({ "name": "" }),
            "API key name must have 1 to 100 characters.",
        ),
        (
            json!({ "name": "é".repeat(101) }),
            "API key name must have 1 to 100 characters.",
        ),
        (
            json!({ "name": "a\u{0}" }),
            "API key name must not contain control characters.",
        ),
        (
            json!({ "name": " a" }),
            "API key name must not begin or end with white space.",
        ),
        (
            json!({ "name": "a\u{200b}" }),
            "API key name must not contain invisible or unassigned characters.",
        ),
        (
            json!({ "name": "a", "expires_at": "2020-01-01T00:00:00Z" }),
            "API key expiry must be in the future.",
        ),
        (json!({ "name": "a", "role": "root" }), "Invalid role."),
        (json!({ "name": "a", "role": "Admin" }), "Invalid role."),
    ] {
        own.post("/profile/keys", &body)
            .await
            .expect_detail(400, detail);
    }
    own.get("/profile/keys")
        .await
        .expect_json(200, &json!({ "keys": [] }));
}
