//! `PATCH /users/{user_id}` with `username`: what ends with the old name, and what stays valid.

use e2e::{
    Process, Program, TestApp, TestResponse, TestSetup, TestUser, for_all_deployments,
    for_two_deployments, grpc,
};
use reqwest::Method;
use rolegate_proto::auth_v1::UpdateUserRequest;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tonic::Code;

for_all_deployments!(sessions_keys_and_posts_go_on_under_the_new_name);
for_two_deployments!(
    a_renaming_is_in_the_log_and_in_the_record_with_both_names,
    names_that_are_refused_change_nothing,
    the_operator_renames_users_and_not_admin,
    an_erasure_removes_both_names_and_the_record_is_still_good,
);

async fn update(app: &TestApp, actor: &TestUser, id: i64, body: Value) -> TestResponse {
    let api = app.bearer.with_token(&actor.token);
    let path = format!("/users/{id}");
    api.send(api.request(Method::PATCH, &path).json(&body))
        .await
}

async fn sessions_keys_and_posts_go_on_under_the_new_name(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user_with_role("ann", "author").await);
    let session = ann.session(&app.bearer).await;
    let key = ann.key(&app.bearer).await;
    let old = app.bearer.with_token(&ann.token);
    let post = json!({ "title": "Title", "content": "Content." });
    let post = old.post("/posts", &post).await.expect(201).json()["id"].clone();
    let old_basic = app.basic.with_basic("ann", &ann.password);
    // These requests fill the Basic cache.
    for _ in 0..2 {
        old_basic.get("/protected").await.expect(200);
    }
    let shown = json!({ "id": ann.id, "username": "eve é", "role": "author", "disabled": false });
    update(&app, &admin, ann.id, json!({ "username": "eve é" }))
        .await
        .expect_json(200, &shown);

    old.get("/profile")
        .await
        .expect_detail(401, "Invalid or expired token.");
    for token in [&session.token, &key.token] {
        let welcome = app.bearer.with_token(token).get("/protected").await;
        welcome.expect_message("Welcome eve é!");
    }
    let post = app.bearer.get(&format!("/posts/{post}")).await;
    assert_eq!(post.expect(200).json()["author"], "eve é");
    old_basic
        .get("/protected")
        .await
        .expect_detail(401, "Invalid username or password.");
    app.try_log_in("ann", &ann.password).await.expect(401);
    let new_basic = app.basic.with_basic("eve é", &ann.password);
    new_basic
        .get("/protected")
        .await
        .expect_message("Welcome eve é!");
    let again = TestUser::log_in(&app.bearer, "eve é", &ann.password).await;
    assert_eq!(again.id, ann.id);

    // A new user with the old name inherits nothing, and a name that returns to its first user
    // revives no token.
    let next = app.user("ann").await;
    assert_ne!(next.id, ann.id);
    old.get("/profile").await.expect(401);
    update(&app, &admin, next.id, json!({ "username": "nan" }))
        .await
        .expect(200);
    update(&app, &admin, ann.id, json!({ "username": "ann" }))
        .await
        .expect(200);
    old.get("/profile").await.expect(401);
    app.bearer
        .with_token(&again.token)
        .get("/profile")
        .await
        .expect(401);
    app.bearer
        .with_token(&session.token)
        .get("/protected")
        .await
        .expect_message("Welcome ann!");
}

async fn a_renaming_is_in_the_log_and_in_the_record_with_both_names(setup: TestSetup) {
    let app = setup.with("LOG_FORMAT", "json").start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let both = json!({ "username": "eve", "disabled": true });
    let shown = json!({ "id": ann.id, "username": "eve", "role": "user", "disabled": true });
    update(&app, &admin, ann.id, both)
        .await
        .expect_json(200, &shown);
    app.try_log_in("eve", &ann.password).await.expect(401);
    // Neither the refused login nor a renaming to the present name is a change.
    update(&app, &admin, ann.id, json!({ "username": "eve" }))
        .await
        .expect_json(200, &shown);
    let api = app.bearer.with_token(&admin.token);
    let path = format!("/audit?actor_id={}&user_id={}", admin.id, ann.id);
    let record = api.get(&path).await.expect(200).json();
    let entries: Vec<_> = record["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| json!([entry["event"], entry["username"], entry["details"]]))
        .collect();
    let expected = [
        json!(["user_disabled", "eve", { "role": "user" }]),
        json!(["user_renamed", "eve", { "from": "ann", "to": "eve" }]),
    ];
    assert_eq!(entries, expected);
    let lines = crate::audit::audit(app.auth(), "user_renamed", 1).await;
    let expected = json!({
        "event": "user_renamed", "user_id": ann.id, "username": "eve", "from": "ann", "to": "eve",
        "actor_id": admin.id, "actor": "admin", "request_id": lines[0]["request_id"],
    });
    assert_eq!(lines, [expected]);
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn names_that_are_refused_change_nothing(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let bob = app.user_with_role("bob", "admin").await;
    let key = bob.key(&app.bearer).await;
    let long = "x".repeat(256);
    for (id, body, detail) in [
        (
            ann.id,
            json!({}),
            "Field \"username\", \"disabled\" or \"until\" is required.",
        ),
        (
            ann.id,
            json!({ "username": null }),
            "Field \"username\" must be a string.",
        ),
        (
            ann.id,
            json!({ "username": 1 }),
            "Field \"username\" must be a string.",
        ),
        (
            ann.id,
            json!({ "username": "eve", "disabled": null }),
            "Field \"disabled\" must be true or false.",
        ),
        (
            ann.id,
            json!({ "username": "eve", "role": "x" }),
            "Field \"role\" is not known.",
        ),
        (
            ann.id,
            json!({ "username": "" }),
            "Username must have 1 to 255 bytes.",
        ),
        (
            ann.id,
            json!({ "username": long }),
            "Username must have 1 to 255 bytes.",
        ),
        (
            ann.id,
            json!({ "username": "a:b" }),
            "Username must not contain a colon.",
        ),
        (
            ann.id,
            json!({ "username": "a\u{200b}" }),
            "Username must not contain invisible or unassigned characters.",
        ),
        (
            ann.id,
            json!({ "username": "a\n", "disabled": true }),
            "Username must not contain control characters.",
        ),
        (
            ann.id,
            json!({ "username": "bob", "disabled": true }),
            "Username already exists.",
        ),
        (
            ann.id,
            json!({ "username": "admin" }),
            "Username already exists.",
        ),
        (
            admin.id,
            json!({ "username": "root", "disabled": true }),
            "This user cannot be renamed.",
        ),
    ] {
        update(&app, &admin, id, body)
            .await
            .expect_detail(400, detail);
    }
    update(&app, &admin, 999_999, json!({ "username": "eve" }))
        .await
        .expect_detail(404, "User not found.");
    update(&app, &ann, ann.id, json!({ "username": "eve" }))
        .await
        .expect_detail(403, "Insufficient privileges.");
    let by_key = TestUser {
        token: key.token.clone(),
        ..bob.clone()
    };
    update(&app, &by_key, bob.id, json!({ "username": "rob" }))
        .await
        .expect_detail(403, "Insufficient privileges.");
    for token in [&ann.token, &admin.token, &bob.token] {
        app.bearer
            .with_token(token)
            .get("/profile")
            .await
            .expect(200);
    }
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let nothing = UpdateUserRequest {
        user_id: ann.id,
        ..UpdateUserRequest::default()
    };
    let refused = client
        .update_user(grpc::authenticated(nothing, &admin.token))
        .await;
    grpc::expect_error(refused, Code::InvalidArgument, "REQUEST_INVALID");
    update(&app, &by_key, ann.id, json!({ "username": "eve" }))
        .await
        .expect(200);
    // The user `admin` still has its name. Otherwise the next start would create another admin with
    // the initial password.
    assert_eq!(
        app.database.user("admin").await.expect("stored").id,
        admin.id
    );
}

async fn command(app: &TestApp, arguments: &[&str]) -> e2e::Exit {
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), app.database.url())]);
    let folder = tempfile::tempdir().expect("a folder");
    Process::run(
        Program::FastHashAuthService,
        arguments,
        &settings,
        folder.path(),
        "",
    )
    .await
}

async fn the_operator_renames_users_and_not_admin(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let session = ann.session(&app.bearer).await;
    app.user("bob").await;
    for (arguments, code, problem) in [
        (["admin", "root"], 1, "this user cannot be renamed"),
        (["ann", "bob"], 1, "the user \"bob\" exists already"),
        (["ann", "admin"], 1, "the user \"admin\" exists already"),
        (["nobody", "eve"], 1, "there is no user \"nobody\""),
        (
            ["ann", "a:b"],
            64,
            "NEW_USERNAME: Username must not contain a colon.",
        ),
    ] {
        let exit = command(&app, &[&["user", "rename"], &arguments[..]].concat()).await;
        assert_eq!(exit.code, Some(code), "{arguments:?}: {exit:?}");
        assert!(exit.stderr.contains(problem), "{arguments:?}: {exit:?}");
    }
    let exit = command(&app, &["user", "rename", "ann", "ann"]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(!exit.stderr.contains("user_renamed"), "{exit:?}");
    let old = app.bearer.with_token(&ann.token);
    old.get("/profile").await.expect(200);
    let exit = command(&app, &["user", "rename", "ann", "eve"]).await;
    let said = format!(
        "User {} has the name \"eve\" now; it was \"ann\".\n",
        ann.id
    );
    assert_eq!((exit.code, &*exit.stdout), (Some(0), &*said), "{exit:?}");
    assert!(exit.stderr.contains("user_renamed"), "{exit:?}");
    old.get("/profile").await.expect(401);
    app.bearer
        .with_token(&session.token)
        .get("/protected")
        .await
        .expect_message("Welcome eve!");
}

async fn an_erasure_removes_both_names_and_the_record_is_still_good(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann first").await);
    // Sign-ins are recorded after the response. A sign-in that is recorded after the erasure would
    // still contain the name.
    e2e::eventually("the sign-in", async || {
        let api = app.bearer.with_token(&admin.token);
        let listed = api
            .get("/audit?event=login_ok")
            .await
            .expect(200)
            .json()
            .to_string();
        listed.contains("ann first").then_some(())
    })
    .await;
    update(&app, &admin, ann.id, json!({ "username": "ann second" }))
        .await
        .expect(200);
    let exported = command(&app, &["audit", "export"]).await;
    assert!(
        exported
            .stdout
            .contains(r#""from":"ann first","to":"ann second""#),
        "{exported:?}"
    );
    let listed = command(&app, &["audit", "list", "--event", "user_renamed"]).await;
    assert!(
        listed
            .stdout
            .contains(r#"{"from":"ann first","to":"ann second"}"#),
        "{listed:?}"
    );
    let api = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}", ann.id);
    api.send(api.request(Method::DELETE, &path))
        .await
        .expect(200);
    // The erasure also finds the user by an earlier name.
    let erased = command(&app, &["user", "erase-audit", "ann first"]).await;
    assert_eq!(erased.code, Some(0), "{erased:?}");
    for arguments in [["audit", "export"], ["audit", "list"]] {
        let shown = command(&app, &arguments).await;
        assert!(!shown.stdout.contains("ann "), "{shown:?}");
    }
    let verified = command(&app, &["audit", "verify"]).await;
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
