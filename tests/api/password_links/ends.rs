//! Tests what ends a password link, and what does not.

use super::{DONE, expect_invalid, new_link, redeem};
use e2e::{TestSetup, TestUser, for_two_deployments};
use reqwest::Method;
use serde_json::json;

for_two_deployments!(
    a_newer_link_and_a_new_password_end_a_link,
    a_link_ends_when_its_user_is_disabled_or_deleted,
    a_link_that_is_made_for_a_disabled_user_is_good_once_the_user_is_enabled,
    a_link_ends_after_a_day,
    a_second_factor_stays_on,
);

async fn a_newer_link_and_a_new_password_end_a_link(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let (first, of_bob) = (
        new_link(&app, &admin, ann.id).await,
        new_link(&app, &admin, bob.id).await,
    );
    let second = new_link(&app, &admin, ann.id).await;
    assert_ne!(first, second);
    expect_invalid(&redeem(&app.bearer, &first, "x").await);

    let own = app.bearer.with_token(&ann.token);
    let wrong = json!({ "current_password": "wrong", "new_password": "x" });
    own.put("/profile/password", &wrong).await.expect(400);
    // Setting the same password again counts as a change, too.
    let change = json!({ "current_password": ann.password, "new_password": ann.password });
    own.put("/profile/password", &change)
        .await
        .expect_message(DONE);
    expect_invalid(&redeem(&app.bearer, &second, "x").await);

    let third = new_link(&app, &admin, ann.id).await;
    let path = format!("/users/{}/password", ann.id);
    let set = json!({ "password": "set by the admin" });
    app.bearer
        .with_token(&admin.token)
        .put(&path, &set)
        .await
        .expect_message(DONE);
    expect_invalid(&redeem(&app.bearer, &third, "x").await);
    app.try_log_in("ann", "set by the admin").await.expect(200);
    // The link of another user has not ended.
    redeem(&app.bearer, &of_bob, "chosen by bob")
        .await
        .expect_message(DONE);
    app.try_log_in("bob", "chosen by bob").await.expect(200);
}

async fn a_link_ends_when_its_user_is_disabled_or_deleted(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}", ann.id);
    let token = new_link(&app, &admin, ann.id).await;
    for disabled in [true, false] {
        let update = as_admin
            .request(Method::PATCH, &path)
            .json(&json!({ "disabled": disabled }));
        as_admin.send(update).await.expect(200);
        expect_invalid(&redeem(&app.bearer, &token, "x").await);
    }
    app.try_log_in("ann", &ann.password).await.expect(200);
    let token = new_link(&app, &admin, ann.id).await;
    as_admin.delete(&path).await.expect(200);
    expect_invalid(&redeem(&app.bearer, &token, "x").await);
    // The link is not valid for a new user of the same name either.
    let ann = app.user("ann").await;
    expect_invalid(&redeem(&app.bearer, &token, "x").await);
    app.try_log_in("ann", &ann.password).await.expect(200);
    assert_eq!(
        app.database.count_rows("SELECT 1 FROM password_link").await,
        0
    );
}

async fn a_link_that_is_made_for_a_disabled_user_is_good_once_the_user_is_enabled(
    setup: TestSetup,
) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let set_disabled = async |disabled: bool| {
        let update = as_admin.request(Method::PATCH, &format!("/users/{}", ann.id));
        as_admin
            .send(update.json(&json!({ "disabled": disabled })))
            .await
            .expect(200);
    };
    set_disabled(true).await;
    let token = new_link(&app, &admin, ann.id).await;
    expect_invalid(&redeem(&app.bearer, &token, "chosen").await);
    set_disabled(false).await;
    redeem(&app.bearer, &token, "chosen")
        .await
        .expect_message(DONE);
    app.try_log_in("ann", "chosen").await.expect(200);
}

async fn a_link_ends_after_a_day(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    for (sql, is_good) in [
        // After this statement, ten minutes are left.
        (
            "UPDATE password_link SET expires_at = expires_at - 85800",
            true,
        ),
        (
            "UPDATE password_link SET expires_at = expires_at - 86400",
            false,
        ),
    ] {
        let token = new_link(&app, &admin, ann.id).await;
        app.database.execute(sql).await;
        let response = redeem(&app.bearer, &token, "chosen").await;
        if is_good {
            response.expect_message(DONE);
        } else {
            expect_invalid(&response);
        }
    }
    app.try_log_in("ann", "chosen").await.expect(200);
}

async fn a_second_factor_stays_on(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let token = new_link(&app, &admin, ann.id).await;
    redeem(&app.bearer, &token, "chosen")
        .await
        .expect_message(DONE);
    app.try_log_in("ann", "chosen")
        .await
        .expect_detail(401, "One-time code required.");
    let ann = TestUser {
        password: "chosen".to_owned(),
        ..ann
    };
    ann.try_code(&app.bearer, &factor.totp.wrong())
        .await
        .expect(401);
    ann.log_in_with_code(&app.bearer, &factor.next_code()).await;
    let stored = app.database.user("ann").await.expect("stored").password;
    assert!(stored.starts_with("otp:$2b$"), "{stored}");
}
