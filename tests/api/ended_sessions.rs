//! Tests what ends sessions other than their own logout, and that an ended session never becomes
//! valid again.

use crate::{
    api_keys::create_key,
    sessions::{create_session, delete, listed, log_out, sign_in},
};
use e2e::{TestSetup, TestUser, for_two_deployments};
use reqwest::Method;
use serde_json::json;

for_two_deployments!(
    bad_sessions_of_every_kind_get_one_response,
    a_new_password_ends_all_sessions_but_the_one_that_sets_it,
    a_session_that_ended_on_one_replica_has_ended_on_all,
    sessions_of_a_disabled_or_deleted_user_never_live_again,
);

const ENDED: &str = "Invalid or expired token.";

async fn bad_sessions_of_every_kind_get_one_response(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let unknown = format!("rgs_{}", "A".repeat(43));
    let first = app.bearer.with_token(&unknown).get("/profile").await;
    first.expect_detail(401, ENDED);
    first.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    let (idle, _) = create_session(&app.bearer, "ann", &ann.password).await;
    app.database
        .execute("UPDATE api_key SET created_at = created_at - 43200")
        .await;
    let (old, _) = create_session(&app.bearer, "ann", &ann.password).await;
    app.database
        .execute("UPDATE api_key SET expires_at = 1 WHERE id > 1")
        .await;
    let (key, _) = create_key(
        &app.bearer.with_token(&ann.token),
        &json!({ "name": "export" }),
    )
    .await;
    let key_as_session = key.replacen("rgk_", "rgs_", 1);
    let long = format!("rgs_{}", "A".repeat(5_000));
    let padded = format!("{unknown}=");
    for bad in [
        "rgs_",
        "rgs_x",
        &long,
        &padded,
        &key_as_session,
        &idle,
        &old,
    ] {
        let other = app.bearer.with_token(bad).get("/profile").await;
        assert_eq!(other.comparable(), first.comparable(), "{bad}");
    }
    // A session that idled out stays ended, even if the clock is set back afterwards.
    app.database
        .execute("UPDATE api_key SET created_at = created_at + 43200")
        .await;
    app.bearer
        .with_token(&idle)
        .get("/profile")
        .await
        .expect_json(401, &first.json());
}

async fn a_new_password_ends_all_sessions_but_the_one_that_sets_it(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, mut ann) = (app.admin().await, app.user("ann").await);
    let ((own, id), (other, _)) = (sign_in(&app, &ann).await, sign_in(&app, &ann).await);
    for round in 0..3 {
        let new = format!("password {round}");
        let body = json!({ "current_password": "wrong", "new_password": new });
        own.put("/profile/password", &body).await.expect(400);
        let body = json!({ "current_password": ann.password, "new_password": new });
        own.put("/profile/password", &body).await.expect(200);
        ann.password = new;
        assert_eq!(listed(&own).await, [id]);
        for ended in [&other, &app.bearer.with_token(&ann.token)] {
            ended.get("/profile").await.expect_detail(401, ENDED);
        }
    }
    // When an access token or an admin sets the password, no session survives.
    let by_token = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    let body = json!({ "current_password": ann.password, "new_password": "by a token" });
    app.bearer
        .with_token(&by_token.token)
        .put("/profile/password", &body)
        .await
        .expect(200);
    own.get("/profile").await.expect_detail(401, ENDED);
    "by a token".clone_into(&mut ann.password);
    let (own, _) = sign_in(&app, &ann).await;
    let path = format!("/users/{}/password", ann.id);
    let set = json!({ "password": "by an admin" });
    app.bearer
        .with_token(&admin.token)
        .put(&path, &set)
        .await
        .expect(200);
    own.get("/profile").await.expect_detail(401, ENDED);
}

async fn a_session_that_ended_on_one_replica_has_ended_on_all(setup: TestSetup) {
    let mut app = setup.start().await;
    let (ann, here) = (app.user("ann").await, app.bearer.clone());
    let _other = app.start_second_gateway().await;
    let replicas = [here, app.bearer.clone()];
    for round in 0..10 {
        let (maker, ender) = (&replicas[round % 2], &replicas[round / 2 % 2]);
        let (token, _) = create_session(maker, "ann", &ann.password).await;
        for replica in &replicas {
            replica.with_token(&token).get("/profile").await.expect(200);
        }
        log_out(&ender.with_token(&token))
            .await
            .expect_message("Logged out.");
        for replica in &replicas {
            replica
                .with_token(&token)
                .get("/profile")
                .await
                .expect_detail(401, ENDED);
        }
    }
}

async fn sessions_of_a_disabled_or_deleted_user_never_live_again(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}", ann.id);
    let (first, _) = sign_in(&app, &ann).await;
    for disabled in [true, false] {
        let update = as_admin
            .request(Method::PATCH, &path)
            .json(&json!({ "disabled": disabled }));
        app.bearer.send(update).await.expect(200);
        first.get("/profile").await.expect_detail(401, ENDED);
    }
    let (second, _) = sign_in(&app, &ann).await;
    second.get("/profile").await.expect(200);
    delete(&as_admin, &path).await.expect(200);
    second.get("/profile").await.expect_detail(401, ENDED);
    let successor = app.user("ann").await;
    assert_eq!(
        listed(&app.bearer.with_token(&successor.token)).await,
        [0; 0]
    );
}
