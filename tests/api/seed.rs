//! The seeded admin, and what restarts do to it.

use e2e::{ADMIN_PASSWORD, TestSetup, for_all_deployments};

for_all_deployments!(
    the_admin_exists_once_with_the_given_password,
    a_restart_changes_nothing_of_the_admin
);

async fn the_admin_exists_once_with_the_given_password(plan: TestSetup) {
    let world = plan.start().await;
    assert_eq!(world.database.count_users().await, 1);
    assert_eq!(world.database.user("admin").await.expect("seeded").role, "admin");
    let admin = world.admin().await;
    let answer = world.bearer.with_token(&admin.token).get("/admin").await;
    answer.expect_message("Welcome Admin!");
}

async fn a_restart_changes_nothing_of_the_admin(plan: TestSetup) {
    let mut world = plan.start().await;
    world.admin().await;
    world.database.set_role("admin", "user").await;
    let before = world.database.user("admin").await;
    world.kill_auth().await;
    world.start_auth_again(Some(("DEFAULT_ADMIN_PASSWORD", "another password"))).await;
    assert_eq!(world.database.user("admin").await, before);
    assert_eq!(world.database.count_users().await, 1);
    world.try_log_in("admin", "another password").await.expect(401);
    world.try_log_in("admin", ADMIN_PASSWORD).await.expect(200);
}
