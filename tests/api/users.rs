//! `GET` and `DELETE /users/{user_id}`, and `GET /protected`.

use e2e::{ADMIN_PASSWORD, Answer, TestApp, TestSetup, TestUser, eventually, for_all_deployments};
use reqwest::Method;
use serde_json::json;

for_all_deployments!(
    an_admin_sees_one_user_as_in_the_list,
    everybody_is_welcome_where_a_token_is_enough,
    a_deleted_user_is_gone_at_once_with_token_password_and_all,
    a_name_may_be_registered_anew_and_inherits_nothing,
    nobody_deletes_themselves_or_the_user_named_admin,
    the_id_of_the_newest_user_is_not_given_out_again,
);

async fn delete(world: &TestApp, actor: &TestUser, id: i64) -> Answer {
    let api = world.bearer.with_token(&actor.token);
    api.send(api.request(Method::DELETE, &format!("/users/{id}"))).await
}

async fn an_admin_sees_one_user_as_in_the_list(plan: TestSetup) {
    let world = plan.start().await;
    let ann = world.user_with_role("ann", "author").await;
    let admin = world.bearer.with_token(&world.admin().await.token);
    let shown = json!({ "id": ann.id, "username": "ann", "role": "author" });
    let answer = admin.get(&format!("/users/{}", ann.id)).await;
    answer.expect_json(200, &shown);
    answer.expect_header("cache-control", Some("no-store"));
    admin.get(&format!("/users/+{}", ann.id)).await.expect_json(200, &shown);
    let listed = admin.get("/users?username=ann").await;
    assert_eq!(listed.expect(200).json()["users"], json!([shown]));
    world.database.set_role("ann", "user").await;
    let now = json!({ "id": ann.id, "username": "ann", "role": "user" });
    admin.get(&format!("/users/{}", ann.id)).await.expect_json(200, &now);
}

async fn everybody_is_welcome_where_a_token_is_enough(plan: TestSetup) {
    let world = plan.start().await;
    let name = "Žofie \"日本\" <b>";
    let person = world.user(name).await;
    let answer = world.bearer.with_token(&person.token).get("/protected").await;
    answer.expect_message(&format!("Welcome {name}!"));
}

async fn a_deleted_user_is_gone_at_once_with_token_password_and_all(plan: TestSetup) {
    let world = plan.start().await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    let basic = world.basic.with_basic("ann", &ann.password);
    // Remembered from now on, and asked for many at once.
    basic.get("/protected").await.expect(200);
    world.bearer.with_token(&ann.token).get("/profile").await.expect(200);

    delete(&world, &admin, ann.id).await.expect_message("User deleted successfully.");
    let api = world.bearer.with_token(&ann.token);
    for path in ["/profile", "/protected", "/users"] {
        let answer = api.get(path).await;
        answer.expect_detail(401, "User not found.");
        answer.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    }
    let change = json!({ "current_password": ann.password, "new_password": "new" });
    api.put("/profile/password", &change).await.expect_detail(401, "User not found.");
    basic.get("/protected").await.expect_detail(401, "Invalid username or password.");
    let login = world.try_log_in("ann", &ann.password).await;
    login.expect_detail(401, "Invalid username or password.");
    let admin_api = world.bearer.with_token(&admin.token);
    let path = format!("/users/{}", ann.id);
    admin_api.get(&path).await.expect_detail(404, "User not found.");
    delete(&world, &admin, ann.id).await.expect_detail(404, "User not found.");
    world.set_role(&admin, &ann, "admin").await.expect_detail(404, "User not found.");
    assert_eq!(world.database.user("ann").await, None);
}

async fn a_name_may_be_registered_anew_and_inherits_nothing(plan: TestSetup) {
    let world = plan.start().await;
    let (admin, old) = (world.admin().await, world.user_with_role("ann", "admin").await);
    delete(&world, &admin, old.id).await.expect(200);
    // With the same password, even.
    let new = world.user("ann").await;
    assert_ne!(new.id, old.id);
    assert_eq!(world.database.user("ann").await.expect("stored").role, "user");
    let answer = world.bearer.with_token(&old.token).get("/profile").await;
    answer.expect_detail(401, "User not found.");
    world.bearer.with_token(&new.token).get("/admin").await.expect(403);
    world.bearer.with_token(&new.token).get("/profile").await.expect(200);
}

async fn nobody_deletes_themselves_or_the_user_named_admin(plan: TestSetup) {
    let world = plan.start().await;
    let (admin, ann) = (world.admin().await, world.user_with_role("ann", "admin").await);
    let refused = "This user cannot be deleted.";
    delete(&world, &admin, admin.id).await.expect_detail(400, refused);
    delete(&world, &ann, ann.id).await.expect_detail(400, refused);
    delete(&world, &ann, admin.id).await.expect_detail(400, refused);
    // The next start would bring that one back, whatever the role was.
    world.set_role(&ann, &admin, "user").await.expect(200);
    delete(&world, &ann, admin.id).await.expect_detail(400, refused);
    assert_eq!(world.database.count_users().await, 2);
    // Only that very name is special.
    let other = world.user("Admin").await;
    delete(&world, &ann, other.id).await.expect(200);
}

async fn the_id_of_the_newest_user_is_not_given_out_again(plan: TestSetup) {
    let mut world = plan.start().await;
    let mut highest = 0;
    for round in 0..5 {
        let newest = world.user("ann").await;
        assert!(newest.id > highest, "{} was given out before", newest.id);
        highest = newest.id;
        delete(&world, &world.admin().await, newest.id).await.expect(200);
        if round == 2 {
            world.kill_auth().await;
            world.start_auth_again(None).await;
            // The gateway may still be looking for it.
            eventually("auth-service to be found again", async || {
                let login = world.try_log_in("admin", ADMIN_PASSWORD).await;
                (login.status == 200).then_some(())
            })
            .await;
        }
    }
}
