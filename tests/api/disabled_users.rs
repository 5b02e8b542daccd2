//! `PATCH /users/{user_id}`, with which an admin disables and enables an account.

use e2e::{
    ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, TestUser, for_all_deployments,
    for_one_deployment, for_two_deployments, grpc,
};
use reqwest::Method;
use rolegate_proto::auth_v1::{
    AuthorizeRequest, BatchAuthorizeRequest, authorize_outcome::Outcome,
    authorize_request::Requirement,
};
use serde_json::{Value, json};

for_all_deployments!(every_credential_of_a_disabled_user_is_refused_at_once);
for_two_deployments!(
    enabled_user_logs_in_again_and_old_tokens_stay_revoked,
    last_admin_cannot_be_disabled_demoted_or_deleted,
    two_last_admins_who_leave_at_the_same_moment_leave_one,
);
for_one_deployment!(invalid_update_is_refused);

async fn update(app: &TestApp, actor: &TestUser, id: i64, body: &Value) -> TestResponse {
    let api = app.bearer.with_token(&actor.token);
    api.send(
        api.request(Method::PATCH, &format!("/users/{id}"))
            .json(body),
    )
    .await
}

async fn set_disabled(app: &TestApp, actor: &TestUser, id: i64, disabled: bool) -> TestResponse {
    update(app, actor, id, &json!({ "disabled": disabled })).await
}

async fn every_credential_of_a_disabled_user_is_refused_at_once(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user_with_role("ann", "admin").await);
    let (api, basic) = (
        app.bearer.with_token(&ann.token),
        app.basic.with_basic("ann", &ann.password),
    );
    api.get("/admin").await.expect(200);
    // This request fills the Basic cache.
    basic.get("/protected").await.expect(200);
    let post = json!({ "title": "Title", "content": "Content." });
    let path = api
        .post("/posts", &post)
        .await
        .expect(201)
        .header("location")
        .map(str::to_owned);
    let shown = json!({ "id": ann.id, "username": "ann", "role": "admin", "disabled": true });
    set_disabled(&app, &admin, ann.id, true)
        .await
        .expect_json(200, &shown);

    let body = json!({ "current_password": ann.password, "new_password": "new" });
    for response in [
        api.get("/profile").await,
        api.get("/protected").await,
        api.get("/admin").await,
        api.get("/users").await,
        api.post("/posts", &post).await,
        api.put("/profile/password", &body).await,
        set_disabled(&app, &ann, ann.id, false).await,
    ] {
        response.expect_detail(401, "User not found.");
    }
    let wrong = "Invalid username or password.";
    basic.get("/protected").await.expect_detail(401, wrong);
    app.try_log_in("ann", &ann.password)
        .await
        .expect_detail(401, wrong);
    app.try_log_in("ann", "wrong")
        .await
        .expect_detail(401, wrong);
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let item = AuthorizeRequest {
        access_token: ann.token.clone(),
        requirement: Some(Requirement::AnyAuthenticated(
            rolegate_proto::auth_v1::AnyAuthenticated {},
        )),
        client_address: None,
        from_cookie: false,
    };
    let batch = BatchAuthorizeRequest {
        items: vec![item.clone(), item],
    };
    let outcomes = client
        .batch_authorize(batch)
        .await
        .expect("decided")
        .into_inner()
        .outcomes;
    let refused = Some(Outcome::RefusalReason("TOKEN_USER_NOT_FOUND".to_owned()));
    assert!(outcomes.len() == 2 && outcomes.iter().all(|outcome| outcome.outcome == refused));

    let as_admin = app.bearer.with_token(&admin.token);
    as_admin
        .get(&format!("/users/{}", ann.id))
        .await
        .expect_json(200, &shown);
    let list = as_admin.get("/users?username=ann").await;
    assert_eq!(list.expect(200).json()["users"], json!([shown]));
    // A post keeps its author while the author is disabled.
    let read = app.bearer.get(&path.expect("a location")).await;
    assert_eq!(read.expect(200).json()["author"], "ann");
    app.try_register("ann", "pw")
        .await
        .expect_detail(400, "Username already exists.");
}

async fn enabled_user_logs_in_again_and_old_tokens_stay_revoked(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let shown = json!({ "id": ann.id, "username": "ann", "role": "user", "disabled": false });
    // Enabling a user who is enabled changes nothing.
    set_disabled(&app, &admin, ann.id, false)
        .await
        .expect_json(200, &shown);
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect(200);
    set_disabled(&app, &admin, ann.id, true).await.expect(200);
    set_disabled(&app, &admin, ann.id, true).await.expect(200);
    set_disabled(&app, &admin, ann.id, false)
        .await
        .expect_json(200, &shown);
    let old = app.bearer.with_token(&ann.token).get("/profile").await;
    old.expect_detail(401, "Invalid or expired token.");
    let new = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    app.bearer
        .with_token(&new.token)
        .get("/profile")
        .await
        .expect(200);
    app.basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await
        .expect(200);
}

const LAST: &str = "The last admin cannot be removed.";

async fn last_admin_cannot_be_disabled_demoted_or_deleted(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user_with_role("ann", "admin").await);
    set_disabled(&app, &admin, ann.id, true).await.expect(200);
    // A disabled admin does not count as a remaining admin.
    set_disabled(&app, &admin, admin.id, true)
        .await
        .expect_detail(400, LAST);
    for role in ["user", "author"] {
        app.set_role(&admin, &admin, role)
            .await
            .expect_detail(400, LAST);
    }
    app.set_role(&admin, &admin, "admin").await.expect(200);
    app.set_role(&admin, &admin, "root")
        .await
        .expect_detail(400, "Invalid role.");
    let api = app.bearer.with_token(&admin.token);
    let deleted = api
        .send(api.request(Method::DELETE, &format!("/users/{}", admin.id)))
        .await;
    deleted.expect_error(400);
    app.try_log_in("admin", ADMIN_PASSWORD).await.expect(200);
    set_disabled(&app, &admin, ann.id, false).await.expect(200);
    set_disabled(&app, &admin, admin.id, true).await.expect(200);
    app.try_log_in("admin", ADMIN_PASSWORD).await.expect(401);
}

async fn two_last_admins_who_leave_at_the_same_moment_leave_one(setup: TestSetup) {
    const ROUNDS: usize = 20;
    let app = setup.start().await;
    for round in 0..ROUNDS {
        let names = [format!("one {round}"), format!("other {round}")];
        let (one, other) = (app.user(&names[0]).await, app.user(&names[1]).await);
        app.database
            .execute(r#"UPDATE "user" SET role = 'user'"#)
            .await;
        for name in &names {
            app.database.set_role(name, "admin").await;
        }
        let other_leaves = async {
            match round % 2 {
                0 => app.set_role(&other, &other, "user").await,
                _ => set_disabled(&app, &other, other.id, true).await,
            }
        };
        let (first, second) = tokio::join!(app.set_role(&one, &one, "user"), other_leaves);
        let (done, refused) = if first.status == 200 {
            (first, second)
        } else {
            (second, first)
        };
        done.expect(200);
        refused.expect_detail(400, LAST);
    }
}

async fn invalid_update_is_refused(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let detail = "Field \"disabled\" must be true or false.";
    for body in [
        json!({ "disabled": "true" }),
        json!({ "disabled": 1 }),
        json!({ "disabled": null }),
    ] {
        update(&app, &admin, ann.id, &body)
            .await
            .expect_detail(400, detail);
    }
    for (body, name) in [
        (json!({ "role": "admin" }), "role"),
        (
            json!({ "disabled": true, "role": "admin", "zone": 1 }),
            "role",
        ),
        (json!({ "password": "x", "disabled": 1 }), "password"),
    ] {
        let refused = update(&app, &admin, ann.id, &body).await;
        refused.expect_detail(400, &format!("Field \"{name}\" is not known."));
        refused.expect_header("rolegate-reason", Some("FIELD_UNKNOWN"));
    }
    set_disabled(&app, &admin, 999_999, true)
        .await
        .expect_detail(404, "User not found.");
    set_disabled(&app, &ann, admin.id, true)
        .await
        .expect_detail(403, "Insufficient privileges.");
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect(200);
}
