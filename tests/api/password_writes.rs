//! What is checked again when a password is written, after it was hashed.

use e2e::{Store, TestSetup, TestUser, for_two_deployments, token};
use rolegate_auth_service::store::{self, WriteError, Writer};
use rolegate_sql_store::DatabaseUrl;
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

for_two_deployments!(actor_who_lost_the_permission_sets_no_password);

async fn actor_who_lost_the_permission_sets_no_password(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, app.database.url()).expect("written");
    let url = DatabaseUrl::required("DATABASE_URL", None, Some(file.path())).expect("a URL");
    let store = store::open(&url).await.expect("opened");
    let set = async |writer| {
        let hash = app.database.user("bob").await.expect("bob").password.into();
        match store.set_password(bob.id, hash, writer).await {
            Ok(user) => Some(user),
            Err(WriteError::UserNotFound) => None,
            Err(error) => panic!("{error:?}"),
        }
    };
    assert_eq!(set(Writer::Admin(ann.id)).await, None, "no admin");
    assert_eq!(set(Writer::Admin(999)).await, None, "stranger");
    app.database.set_role("ann", "admin").await;
    let given = set(Writer::Admin(ann.id)).await.expect("done");
    let seen = given.tokens_not_before;
    assert_eq!(
        set(Writer::Owner { seen: seen - 1, session: None }).await,
        None,
        "another one was set"
    );
    assert!(set(Writer::Owner { seen, session: None }).await.is_some());
    assert!(set(Writer::Operator).await.is_some());
    store.close().await;
}

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
    // Token times have seconds: longer than their margin, shorter than the statement timeout.
    while token::now() < asked + 2 {
        sleep(Duration::from_millis(20)).await;
    }
    let old = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    app.bearer.with_token(&old.token).get("/profile").await.expect(200);
    locked.unlock().await;
    change.await.expect("answered").expect_message("Password updated successfully.");
    let response = app.bearer.with_token(&old.token).get("/profile").await;
    response.expect_detail(401, "Invalid or expired token.");
    let new = TestUser::log_in(&app.bearer, "ann", "new password").await;
    app.bearer.with_token(&new.token).get("/profile").await.expect(200);
}
