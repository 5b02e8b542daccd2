//! `GET` and `DELETE /users/{user_id}`, and `GET /protected`.

use e2e::{
    ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, TestUser, eventually, for_all_deployments,
    for_one_deployment, for_two_deployments,
};
use reqwest::Method;
use serde_json::json;

for_all_deployments!(
    deleted_user_loses_all_access_at_once,
    reregistered_username_inherits_nothing
);
for_two_deployments!(
    single_user_is_shown_as_in_the_list,
    own_account_and_the_user_named_admin_cannot_be_deleted,
    id_of_a_deleted_user_is_not_reused,
);
for_one_deployment!(protected_admits_any_user);

async fn delete(app: &TestApp, actor: &TestUser, id: i64) -> TestResponse {
    let api = app.bearer.with_token(&actor.token);
    api.send(api.request(Method::DELETE, &format!("/users/{id}")))
        .await
}

async fn single_user_is_shown_as_in_the_list(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let admin = app.bearer.with_token(&app.admin().await.token);
    let shown = json!({ "id": ann.id, "username": "ann", "role": "author", "disabled": false });
    let response = admin.get(&format!("/users/{}", ann.id)).await;
    response.expect_json(200, &shown);
    response.expect_header("cache-control", Some("no-store"));
    admin
        .get(&format!("/users/+{}", ann.id))
        .await
        .expect_json(200, &shown);
    let listed = admin.get("/users?username=ann").await;
    assert_eq!(listed.expect(200).json()["users"], json!([shown]));
    app.database.set_role("ann", "user").await;
    let now = json!({ "id": ann.id, "username": "ann", "role": "user", "disabled": false });
    admin
        .get(&format!("/users/{}", ann.id))
        .await
        .expect_json(200, &now);
}

async fn protected_admits_any_user(setup: TestSetup) {
    let app = setup.start().await;
    let name = "Žofie \"日本\" <b>";
    let user = app.user(name).await;
    let response = app.bearer.with_token(&user.token).get("/protected").await;
    response.expect_message(&format!("Welcome {name}!"));
}

async fn deleted_user_loses_all_access_at_once(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let basic = app.basic.with_basic("ann", &ann.password);
    // These requests fill the Basic cache and use the batched reads.
    basic.get("/protected").await.expect(200);
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect(200);

    delete(&app, &admin, ann.id)
        .await
        .expect_message("User deleted successfully.");
    let api = app.bearer.with_token(&ann.token);
    for path in ["/profile", "/protected", "/users"] {
        let response = api.get(path).await;
        response.expect_detail(401, "User not found.");
        response.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    }
    let change = json!({ "current_password": ann.password, "new_password": "new" });
    api.put("/profile/password", &change)
        .await
        .expect_detail(401, "User not found.");
    basic
        .get("/protected")
        .await
        .expect_detail(401, "Invalid username or password.");
    let login = app.try_log_in("ann", &ann.password).await;
    login.expect_detail(401, "Invalid username or password.");
    let admin_api = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}", ann.id);
    admin_api
        .get(&path)
        .await
        .expect_detail(404, "User not found.");
    delete(&app, &admin, ann.id)
        .await
        .expect_detail(404, "User not found.");
    app.set_role(&admin, &ann, "admin")
        .await
        .expect_detail(404, "User not found.");
    assert_eq!(app.database.user("ann").await, None);
}

async fn reregistered_username_inherits_nothing(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, old) = (app.admin().await, app.user_with_role("ann", "admin").await);
    delete(&app, &admin, old.id).await.expect(200);
    // The new user has the same password, and still inherits nothing.
    let new = app.user("ann").await;
    assert_ne!(new.id, old.id);
    assert_eq!(app.database.user("ann").await.expect("stored").role, "user");
    let response = app.bearer.with_token(&old.token).get("/profile").await;
    response.expect_detail(401, "User not found.");
    app.bearer
        .with_token(&new.token)
        .get("/admin")
        .await
        .expect(403);
    app.bearer
        .with_token(&new.token)
        .get("/profile")
        .await
        .expect(200);
}

async fn own_account_and_the_user_named_admin_cannot_be_deleted(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user_with_role("ann", "admin").await);
    let refused = "This user cannot be deleted.";
    delete(&app, &admin, admin.id)
        .await
        .expect_detail(400, refused);
    delete(&app, &ann, ann.id).await.expect_detail(400, refused);
    delete(&app, &ann, admin.id)
        .await
        .expect_detail(400, refused);
    // The user named `admin` cannot be deleted, whatever the role, because the next start would
    // create it again.
    app.set_role(&ann, &admin, "user").await.expect(200);
    delete(&app, &ann, admin.id)
        .await
        .expect_detail(400, refused);
    assert_eq!(app.database.count_users().await, 2);
    // The name is compared byte for byte, so the user `Admin` can be deleted.
    let other = app.user("Admin").await;
    delete(&app, &ann, other.id).await.expect(200);
}

async fn id_of_a_deleted_user_is_not_reused(setup: TestSetup) {
    let mut app = setup.start().await;
    let mut highest = 0;
    for round in 0..5 {
        let newest = app.user("ann").await;
        assert!(newest.id > highest, "{} was given out before", newest.id);
        highest = newest.id;
        delete(&app, &app.admin().await, newest.id)
            .await
            .expect(200);
        if round == 2 {
            app.kill_auth().await;
            app.start_auth(None).await;
            // The gateway may not be connected again yet.
            eventually("auth-service to be found again", async || {
                let login = app.try_log_in("admin", ADMIN_PASSWORD).await;
                (login.status == 200).then_some(())
            })
            .await;
        }
    }
}
