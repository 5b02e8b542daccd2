//! `PUT /users/{user_id}/role`, and how soon a role counts.

use e2e::{Answer, TestApp, TestSetup, TestUser, for_all_deployments};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

for_all_deployments!(
    a_new_role_decides_at_once_with_the_old_token,
    a_role_changed_by_sql_decides_at_once_with_the_old_token,
    a_user_whose_row_is_gone_is_not_found,
    every_role_can_become_every_role,
    an_admin_can_give_up_the_role_and_loses_it_at_once,
    only_the_three_names_are_roles,
    checks_run_in_the_documented_order,
);

async fn profile_says(world: &TestApp, person: &TestUser, role: &str) {
    let answer = world.bearer.with_token(&person.token).get("/profile").await;
    let message = format!("Welcome {}!", person.username);
    answer.expect_json(200, &json!({ "message": message, "role": role }));
}

async fn author_endpoint(world: &TestApp, person: &TestUser) -> Answer {
    world.bearer.with_token(&person.token).get("/author").await
}

pub(crate) async fn a_new_role_decides_at_once_with_the_old_token(plan: TestSetup) {
    let world = plan.start().await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    for _ in 0..20 {
        author_endpoint(&world, &ann).await.expect_detail(403, "Insufficient privileges.");
        profile_says(&world, &ann, "user").await;
        let answer = world.set_role(&admin, &ann, "author").await;
        answer.expect_message("User role updated successfully.");
        author_endpoint(&world, &ann).await.expect_message("Welcome Author!");
        profile_says(&world, &ann, "author").await;
        world.set_role(&admin, &ann, "user").await.expect(200);
    }
}

async fn a_role_changed_by_sql_decides_at_once_with_the_old_token(plan: TestSetup) {
    let world = plan.start().await;
    let ann = world.user("ann").await;
    for _ in 0..10 {
        author_endpoint(&world, &ann).await.expect_detail(403, "Insufficient privileges.");
        world.database.set_role("ann", "admin").await;
        author_endpoint(&world, &ann).await.expect_message("Welcome Author!");
        let admin = world.bearer.with_token(&ann.token).get("/admin").await;
        admin.expect_message("Welcome Admin!");
        profile_says(&world, &ann, "admin").await;
        world.database.set_role("ann", "user").await;
    }
}

async fn a_user_whose_row_is_gone_is_not_found(plan: TestSetup) {
    let world = plan.start().await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    profile_says(&world, &ann, "user").await;
    world.database.delete("ann").await;
    for path in ["/profile", "/author", "/admin", "/users"] {
        let answer = world.bearer.with_token(&ann.token).get(path).await;
        answer.expect_detail(401, "User not found.");
        answer.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    }
    world.set_role(&ann, &admin, "user").await.expect_detail(401, "User not found.");
    world.set_role(&admin, &ann, "user").await.expect_detail(404, "User not found.");
    // Whoever comes after does not inherit the token.
    let successor = world.user("ann").await;
    assert_ne!(successor.id, ann.id, "ids are never given out twice");
    world.bearer.with_token(&ann.token).get("/profile").await.expect(401);
}

pub(crate) async fn every_role_can_become_every_role(plan: TestSetup) {
    let world = plan.start().await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    for from in ["user", "author", "admin"] {
        for to in ["user", "author", "admin"] {
            world.set_role(&admin, &ann, from).await.expect(200);
            world.set_role(&admin, &ann, to).await.expect(200);
            profile_says(&world, &ann, to).await;
            assert_eq!(world.database.user("ann").await.expect("stored").role, to);
        }
    }
}

async fn an_admin_can_give_up_the_role_and_loses_it_at_once(plan: TestSetup) {
    let world = plan.start().await;
    let admin = world.admin().await;
    world.set_role(&admin, &admin, "author").await.expect(200);
    world.set_role(&admin, &admin, "admin").await.expect_detail(403, "Insufficient privileges.");
    profile_says(&world, &admin, "author").await;
}

async fn only_the_three_names_are_roles(plan: TestSetup) {
    let world = plan.start().await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    for role in [
        "",
        "Admin",
        "ADMIN",
        " admin",
        "admin ",
        "root",
        "ROLE_ADMIN",
        "3",
        "admin\0",
        "\0",
        "ädmin",
    ] {
        world.set_role(&admin, &ann, role).await.expect_detail(400, "Invalid role.");
    }
    profile_says(&world, &ann, "user").await;
}

/// Each request is wrong in every way that comes after the one that is to be found.
async fn checks_run_in_the_documented_order(plan: TestSetup) {
    let world = plan.start().await;
    let (admin, ann) = (world.admin().await, world.user("ann").await);
    let nobody = "/users/999999999/role";
    let known = format!("/users/{}/role", ann.id);
    let huge = "x".repeat(100 * 1024);
    let put = async |token: Option<&str>, path: &str, content_type: &str, body: &str| {
        let api =
            token.map_or_else(|| world.bearer.clone(), |token| world.bearer.with_token(token));
        let request = api.request(Method::PUT, path).header(CONTENT_TYPE, content_type);
        api.send(request.body(body.to_owned())).await
    };
    let (json, text) = ("application/json", "text/plain");
    let wrong_role = r#"{"role":"nonsense"}"#;

    put(None, nobody, text, &huge).await.expect_detail(401, "Not authenticated.");
    put(Some("bad"), nobody, text, &huge).await.expect_detail(401, "Invalid or expired token.");
    let answer = put(Some(&ann.token), nobody, text, &huge).await;
    answer.expect_detail(403, "Insufficient privileges.");
    let actor = Some(admin.token.as_str());
    put(actor, nobody, text, &huge).await.expect_error(413);
    put(actor, nobody, text, "{").await.expect_error(415);
    put(actor, nobody, json, "{").await.expect_error(400);
    put(actor, nobody, json, r#"{"role":7}"#).await.expect_error(400);
    put(actor, nobody, json, wrong_role).await.expect_detail(404, "User not found.");
    put(actor, &known, json, wrong_role).await.expect_detail(400, "Invalid role.");
    put(actor, &known, json, r#"{"role":"author"}"#).await.expect(200);

    put(None, "/users/x/role", json, "{").await.expect(401);
    put(Some(&ann.token), "/users/x/role", json, "{").await.expect(403);
    put(actor, "/users/x/role", json, wrong_role).await.expect_error(400);
}
