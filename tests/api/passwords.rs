//! `PUT /profile/password` and `PUT /users/{user_id}/password`, and what a change of the password
//! revokes.

use e2e::{
    ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, TestUser, for_all_deployments,
    for_one_deployment, for_two_deployments, token,
};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

for_all_deployments!(
    change_revokes_old_credentials_at_once_and_the_next_login_works,
    login_racing_a_password_change_gets_no_valid_token,
);
for_two_deployments!(
    every_change_revokes_earlier_tokens_however_fast_changes_follow,
    admin_sets_a_password_and_revokes_the_tokens_of_that_user_only,
    wrong_current_password_is_rejected_and_changes_nothing,
    wrong_current_passwords_count_towards_the_login_rate_limit,
    one_of_many_concurrent_changes_succeeds,
);
for_one_deployment!(
    admin_cannot_set_their_own_password_without_the_current_one,
    rule_of_the_new_password_is_checked_before_the_current_password,
    checks_run_in_the_documented_order,
);

const DONE: &str = "Password updated successfully.";
const WRONG: &str = "Current password is incorrect.";

async fn change(app: &TestApp, token: &str, current: &str, new: &str) -> TestResponse {
    let body = json!({ "current_password": current, "new_password": new });
    app.bearer
        .with_token(token)
        .put("/profile/password", &body)
        .await
}

async fn set(app: &TestApp, actor: &TestUser, id: i64, password: &str) -> TestResponse {
    let path = format!("/users/{id}/password");
    app.bearer
        .with_token(&actor.token)
        .put(&path, &json!({ "password": password }))
        .await
}

async fn expect_good(app: &TestApp, token: &str) {
    app.bearer
        .with_token(token)
        .get("/profile")
        .await
        .expect(200);
}

async fn expect_ended(app: &TestApp, token: &str) {
    let api = app.bearer.with_token(token);
    for path in ["/profile", "/admin"] {
        let response = api.get(path).await;
        response.expect_detail(401, "Invalid or expired token.");
        response.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    }
}

async fn change_revokes_old_credentials_at_once_and_the_next_login_works(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let old_basic = app.basic.with_basic("ann", &ann.password);
    // The password is in the Basic cache from now on.
    old_basic.get("/protected").await.expect(200);
    let before = token::now();
    change(&app, &ann.token, &ann.password, "new password")
        .await
        .expect_message(DONE);
    expect_ended(&app, &ann.token).await;
    old_basic
        .get("/protected")
        .await
        .expect_detail(401, "Invalid username or password.");
    app.try_log_in("ann", &ann.password).await.expect(401);

    let new = TestUser::log_in(&app.bearer, "ann", "new password").await;
    expect_good(&app, &new.token).await;
    expect_ended(&app, &ann.token).await;
    app.basic
        .with_basic("ann", "new password")
        .get("/protected")
        .await
        .expect(200);
    let exp = token::claims(&new.token)["exp"]
        .as_u64()
        .expect("an instant");
    let bounds = before + 1800..=token::now() + 1803;
    assert!(
        bounds.contains(&exp),
        "{exp} is not 30 minutes from {bounds:?}"
    );
    // Setting the same password again counts as a change, too.
    change(&app, &new.token, "new password", "new password")
        .await
        .expect_message(DONE);
    expect_ended(&app, &new.token).await;
}

async fn every_change_revokes_earlier_tokens_however_fast_changes_follow(setup: TestSetup) {
    let app = setup.start().await;
    let mut ann = app.user("ann").await;
    let mut ended = Vec::new();
    for round in 0..8 {
        let new = format!("password {round}");
        change(&app, &ann.token, &ann.password, &new)
            .await
            .expect_message(DONE);
        ended.push(ann.token);
        ann = TestUser::log_in(&app.bearer, "ann", &new).await;
        expect_good(&app, &ann.token).await;
        for token in &ended {
            expect_ended(&app, token).await;
        }
    }
}

async fn admin_sets_a_password_and_revokes_the_tokens_of_that_user_only(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    app.basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await
        .expect(200);
    set(&app, &admin, ann.id, "set by the admin")
        .await
        .expect_message(DONE);
    expect_ended(&app, &ann.token).await;
    let basic = app
        .basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await;
    basic.expect_detail(401, "Invalid username or password.");
    app.try_log_in("ann", &ann.password).await.expect(401);
    let new = TestUser::log_in(&app.bearer, "ann", "set by the admin").await;
    expect_good(&app, &new.token).await;
    for other in [&admin, &bob] {
        expect_good(&app, &other.token).await;
        app.try_log_in(&other.username, &other.password)
            .await
            .expect(200);
    }
}

async fn admin_cannot_set_their_own_password_without_the_current_one(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let ann = app.user_with_role("ann", "admin").await;
    for password in ["another", "", &admin.password] {
        let refused = set(&app, &admin, admin.id, password).await;
        refused.expect_detail(400, "Use /profile/password to change your own password.");
    }
    expect_good(&app, &admin.token).await;
    app.try_log_in("admin", ADMIN_PASSWORD).await.expect(200);
    app.try_log_in("admin", "another").await.expect(401);
    set(&app, &ann, admin.id, "by another admin")
        .await
        .expect_message(DONE);
    app.try_log_in("admin", "by another admin")
        .await
        .expect(200);
    change(&app, &ann.token, &ann.password, "own")
        .await
        .expect_message(DONE);
}

async fn wrong_current_password_is_rejected_and_changes_nothing(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let stored = app.database.user("ann").await;
    let (long, nul) = ("x".repeat(73), format!("{}\0", ann.password));
    let more = format!("{} ", ann.password);
    for wrong in [
        "",
        "wrong",
        ADMIN_PASSWORD,
        &more,
        &nul,
        &long,
        &"x".repeat(10_000),
    ] {
        change(&app, &ann.token, wrong, "new")
            .await
            .expect_detail(400, WRONG);
    }
    assert_eq!(app.database.user("ann").await, stored);
    expect_good(&app, &ann.token).await;
    app.try_log_in("ann", &ann.password).await.expect(200);
}

async fn rule_of_the_new_password_is_checked_before_the_current_password(setup: TestSetup) {
    let app = setup
        .with("PASSWORD_MIN_LENGTH", "8")
        .with("LOGIN_FAILURE_LIMIT", "1")
        .start()
        .await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let stored = app.database.user("ann").await;
    let too_long = "x".repeat(73);
    for (new, rule) in [
        ("", "Password must have at least 8 bytes."),
        ("1234567", "Password must have at least 8 bytes."),
        (&*too_long, "Password must have at most 72 bytes."),
        ("12345678\0", "Password must not contain NUL."),
    ] {
        // However often this happens, it does not count as a failed login.
        change(&app, &ann.token, "wrong", new)
            .await
            .expect_detail(400, rule);
        change(&app, &ann.token, &ann.password, new)
            .await
            .expect_detail(400, rule);
        set(&app, &admin, ann.id, new)
            .await
            .expect_detail(400, rule);
    }
    assert_eq!(app.database.user("ann").await, stored);
    expect_good(&app, &ann.token).await;
    change(&app, &ann.token, &ann.password, "12345678")
        .await
        .expect_message(DONE);
}

async fn wrong_current_passwords_count_towards_the_login_rate_limit(setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "3").start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let too_many = "Too many attempts, try again later.";
    let mut token = bob.token;
    for _ in 0..5 {
        // An attempt with the right password is not counted against the limit.
        change(&app, &token, &bob.password, &bob.password)
            .await
            .expect_message(DONE);
        token = TestUser::log_in(&app.bearer, "bob", &bob.password)
            .await
            .token;
    }
    let guesses: Vec<_> = (0..10)
        .map(|_| {
            let api = app.bearer.with_token(&ann.token);
            let body = json!({ "current_password": "wrong", "new_password": "new" });
            tokio::spawn(async move { api.put("/profile/password", &body).await })
        })
        .collect();
    let mut tried = 0;
    for guess in guesses {
        let response = guess.await.expect("it was answered");
        match response.status {
            400 => tried += usize::from(response.expect_detail(400, WRONG).status == 400),
            _ => drop(
                response
                    .expect_detail(429, too_many)
                    .expect_retry_after()
                    .status,
            ),
        }
    }
    assert_eq!(tried, 3, "at the same time as in turn");
    change(&app, &ann.token, &ann.password, "new")
        .await
        .expect_detail(429, too_many);
    app.try_log_in("ann", &ann.password)
        .await
        .expect_detail(429, too_many);
    expect_good(&app, &ann.token).await;
}

async fn one_of_many_concurrent_changes_succeeds(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let changes: Vec<_> = (0..8)
        .map(|index| {
            let api = app.bearer.with_token(&ann.token);
            let new = format!("new password {index}");
            let body = json!({ "current_password": ann.password, "new_password": new });
            tokio::spawn(async move { (new, api.put("/profile/password", &body).await) })
        })
        .collect();
    let mut done = Vec::new();
    for change in changes {
        let (new, response) = change.await.expect("it was answered");
        match response.status {
            200 => done.push(new),
            400 => drop(response.expect_detail(400, WRONG).status),
            _ => drop(
                response
                    .expect_detail(401, "Invalid or expired token.")
                    .status,
            ),
        }
    }
    assert_eq!(done.len(), 1, "{done:?}");
    app.try_log_in("ann", &done[0]).await.expect(200);
    expect_ended(&app, &ann.token).await;
}

async fn login_racing_a_password_change_gets_no_valid_token(setup: TestSetup) {
    let app = setup.start().await;
    let mut ann = app.user("ann").await;
    for round in 0..10 {
        let logins: Vec<_> = (0..6)
            .map(|_| {
                let api = app.bearer.clone();
                let body = json!({ "username": "ann", "password": ann.password });
                tokio::spawn(async move { api.post("/login", &body).await })
            })
            .collect();
        let new = format!("password {round}");
        change(&app, &ann.token, &ann.password, &new)
            .await
            .expect_message(DONE);
        for login in logins {
            let response = login.await.expect("it was answered");
            match response.status {
                200 => {
                    let won = response.json()["access_token"]
                        .as_str()
                        .expect("a token")
                        .to_owned();
                    expect_ended(&app, &won).await;
                }
                _ => drop(
                    response
                        .expect_detail(401, "Invalid username or password.")
                        .status,
                ),
            }
        }
        ann = TestUser::log_in(&app.bearer, "ann", &new).await;
    }
}

/// Sends requests that fail the expected check and every check after it, which shows the order of
/// the checks.
async fn checks_run_in_the_documented_order(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let (of_stranger, of_ann) = (
        "/users/999999999/password",
        format!("/users/{}/password", ann.id),
    );
    let huge = "x".repeat(100 * 1024);
    let put = async |token: Option<&str>, path: &str, content_type: &str, body: &str| {
        let api = token.map_or_else(|| app.bearer.clone(), |token| app.bearer.with_token(token));
        let request = api
            .request(Method::PUT, path)
            .header(CONTENT_TYPE, content_type);
        api.send(request.body(body.to_owned())).await
    };
    let (json, text) = ("application/json", "text/plain");
    let (actor, user) = (Some(&*admin.token), Some(&*ann.token));

    for path in [of_stranger, "/users/x/password", "/profile/password"] {
        put(None, path, text, &huge)
            .await
            .expect_detail(401, "Not authenticated.");
        put(Some("bad"), path, text, &huge)
            .await
            .expect_detail(401, "Invalid or expired token.");
        put(actor, path, text, &huge).await.expect_error(413);
        put(actor, path, text, "{").await.expect_error(415);
        for body in ["", "{", "[]", "null", "\"x\"", r#"{"password":"a","#] {
            put(actor, path, json, body).await.expect_error(400);
        }
    }
    put(user, of_stranger, text, &huge)
        .await
        .expect_detail(403, "Insufficient privileges.");
    for body in [
        "{}",
        r#"{"password":7}"#,
        r#"{"password":null}"#,
        r#"{"password":["a"]}"#,
    ] {
        let detail = put(actor, of_stranger, json, body).await.expect_error(400);
        assert!(detail.contains("\"password\""), "{detail}");
    }
    put(actor, of_stranger, json, r#"{"password":""}"#)
        .await
        .expect_detail(404, "User not found.");
    put(actor, &of_ann, json, r#"{"password":""}"#)
        .await
        .expect_error(400);

    let own = "/profile/password";
    for (body, field) in [
        (r#"{"new_password":"a"}"#, "current_password"),
        (
            r#"{"current_password":1,"new_password":2}"#,
            "current_password",
        ),
        (r#"{"current_password":"a"}"#, "new_password"),
        (
            r#"{"current_password":"a","new_password":{}}"#,
            "new_password",
        ),
        (
            r#"{"current_password":"a","new_password":"b","new_password":"c"}"#,
            "new_password",
        ),
    ] {
        let detail = put(user, own, json, body).await.expect_error(400);
        assert!(detail.contains(field), "{detail}");
    }
    app.try_log_in("ann", &ann.password).await.expect(200);
    expect_good(&app, &ann.token).await;
}
