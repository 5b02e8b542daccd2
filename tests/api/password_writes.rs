//! Hashing a password takes time, so tokens may be issued meanwhile. They must be revoked, too, when
//! the new password is written.

use e2e::{Store, TestSetup, TestUser, token};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

#[tokio::test]
async fn slow_password_change_revokes_tokens_issued_meanwhile() {
    let app = TestSetup::split(Store::Postgres).start().await;
    let ann = app.user("ann").await;
    let mut locked = app.database.lock(r#""user""#).await;
    let body = json!({ "current_password": ann.password, "new_password": "new password" });
    let asked = token::now();
    let api = app.bearer.with_token(&ann.token);
    let change = tokio::spawn(async move { api.put("/profile/password", &body).await });
    while !locked.has_waiters().await {
        assert!(!change.is_finished(), "answered before it wrote");
    }
    // Token times are in seconds. The wait is longer than their margin and shorter than the
    // statement timeout.
    while token::now() < asked + 2 {
        sleep(Duration::from_millis(20)).await;
    }
    let old = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    app.bearer
        .with_token(&old.token)
        .get("/profile")
        .await
        .expect(200);
    locked.unlock().await;
    change
        .await
        .expect("answered")
        .expect_message("Password updated successfully.");
    let response = app.bearer.with_token(&old.token).get("/profile").await;
    response.expect_detail(401, "Invalid or expired token.");
    let new = TestUser::log_in(&app.bearer, "ann", "new password").await;
    app.bearer
        .with_token(&new.token)
        .get("/profile")
        .await
        .expect(200);
}
