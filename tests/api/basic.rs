//! The HTTP Basic address, and the users that it shares with the bearer address.

use e2e::{
    ADMIN_PASSWORD, TestSetup, for_all_deployments, for_one_deployment, for_two_deployments,
};
use serde_json::json;

for_all_deployments!(
    correct_password_is_accepted,
    user_deleted_by_sql_is_rejected_at_once,
    password_changed_by_sql_takes_effect_at_once,
);
for_two_deployments!(
    unknown_user_and_wrong_password_get_the_same_response,
    both_variants_share_the_users,
);
for_one_deployment!(
    password_may_contain_colons,
    registration_applies_the_same_rules_on_both_variants,
);

async fn correct_password_is_accepted(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.basic.with_basic("admin", ADMIN_PASSWORD);
    for _ in 0..3 {
        admin
            .get("/protected")
            .await
            .expect_message("Welcome admin!");
    }
    app.basic
        .with_basic("admin", "wrong")
        .get("/protected")
        .await
        .expect(401);
}

async fn unknown_user_and_wrong_password_get_the_same_response(setup: TestSetup) {
    let app = setup.start().await;
    app.user("ann").await;
    let unknown = app
        .basic
        .with_basic("stranger", "a password")
        .get("/protected")
        .await;
    let wrong = app
        .basic
        .with_basic("ann", "a password")
        .get("/protected")
        .await;
    wrong.expect_detail(401, "Invalid username or password.");
    wrong.expect_header("www-authenticate", Some("Basic"));
    assert_eq!(unknown.comparable(), wrong.comparable());
}

async fn password_may_contain_colons(setup: TestSetup) {
    let app = setup.start().await;
    for (name, password) in [
        ("ann", ":"),
        ("bob", "a:b:c"),
        ("cem", ":x"),
        ("dan", "p\u{e9}"),
    ] {
        let body = json!({ "username": name, "password": password });
        let response = app.basic.post("/register", &body).await;
        response.expect_message("User registered successfully.");
        let response = app.basic.with_basic(name, password).get("/protected").await;
        response.expect_message(&format!("Welcome {name}!"));
    }
}

async fn both_variants_share_the_users(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let response = app
        .basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await;
    response.expect_message("Welcome ann!");
    let bob = json!({ "username": "bob", "password": "pw" });
    app.basic
        .post("/register", &bob)
        .await
        .expect_message("User registered successfully.");
    app.bearer.post("/login", &bob).await.expect(200);
    for api in [&app.bearer, &app.basic] {
        let response = api.post("/register", &bob).await;
        response.expect_detail(400, "Username already exists.");
    }
    assert_eq!(app.database.user("bob").await.expect("stored").role, "user");
}

async fn user_deleted_by_sql_is_rejected_at_once(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let api = app.basic.with_basic("ann", &ann.password);
    api.get("/protected").await.expect(200);
    app.database.delete("ann").await;
    api.get("/protected")
        .await
        .expect_detail(401, "Invalid username or password.");
    // The old password is not valid for a new user with the same name.
    let body = json!({ "username": "ann", "password": "another password" });
    app.basic.post("/register", &body).await.expect(200);
    api.get("/protected")
        .await
        .expect_detail(401, "Invalid username or password.");
}

async fn password_changed_by_sql_takes_effect_at_once(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let protected = async |password: &str| {
        app.basic
            .with_basic("ann", password)
            .get("/protected")
            .await
            .status
    };
    let old = app.database.user("ann").await.expect("stored").password;
    let new = app.database.user("bob").await.expect("stored").password;
    for _ in 0..3 {
        assert_eq!(
            (
                protected(&ann.password).await,
                protected(&bob.password).await
            ),
            (200, 401)
        );
        app.database.set_password_hash("ann", &new).await;
        assert_eq!(
            (
                protected(&ann.password).await,
                protected(&bob.password).await
            ),
            (401, 200)
        );
        app.database.set_password_hash("ann", &old).await;
    }
}

async fn registration_applies_the_same_rules_on_both_variants(setup: TestSetup) {
    let app = setup.start().await;
    let (long_name, long_password) = ("x".repeat(256), "x".repeat(73));
    for (name, password) in [
        ("", "pw"),
        ("a:b", "pw"),
        ("a\0", "pw"),
        (&*long_name, "pw"),
        ("a", ""),
        ("a", &*long_password),
    ] {
        let body = json!({ "username": name, "password": password });
        let here = app.basic.post("/register", &body).await;
        here.expect_error(400);
        let there = app.bearer.post("/register", &body).await;
        assert_eq!(here.body, there.body, "the same rule, the same words");
    }
}
