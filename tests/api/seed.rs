//! The seeded admin, at the first start and after restarts.

use e2e::{ADMIN_PASSWORD, TestSetup, for_all_deployments};

for_all_deployments!(
    admin_is_seeded_once_with_the_configured_password,
    restart_does_not_change_the_admin
);

async fn admin_is_seeded_once_with_the_configured_password(setup: TestSetup) {
    let app = setup.start().await;
    assert_eq!(app.database.count_users().await, 1);
    assert_eq!(app.database.user("admin").await.expect("seeded").role, "admin");
    let admin = app.admin().await;
    let response = app.bearer.with_token(&admin.token).get("/admin").await;
    response.expect_message("Welcome Admin!");
}

async fn restart_does_not_change_the_admin(setup: TestSetup) {
    let mut app = setup.start().await;
    app.admin().await;
    app.database.set_role("admin", "user").await;
    let before = app.database.user("admin").await;
    app.kill_auth().await;
    app.start_auth(Some(("DEFAULT_ADMIN_PASSWORD", "another password"))).await;
    assert_eq!(app.database.user("admin").await, before);
    assert_eq!(app.database.count_users().await, 1);
    app.try_log_in("admin", "another password").await.expect(401);
    app.try_log_in("admin", ADMIN_PASSWORD).await.expect(200);
}
