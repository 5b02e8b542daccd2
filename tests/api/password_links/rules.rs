//! Tests who may create links, which passwords and tokens are refused, and how often links can be
//! tried.

use super::{DONE, expect_invalid, look_up, new_link, redeem, try_link};
use e2e::{TestSetup, for_one_deployment, for_two_deployments};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::json;

for_two_deployments!(
    links_are_made_by_admins_in_person_for_others,
    a_refused_password_leaves_the_link_good,
    bad_tokens_are_limited_for_each_client_address,
);
for_one_deployment!(
    every_bad_token_gets_the_same_response,
    admins_set_no_passwords_where_links_are_the_only_way,
);

async fn links_are_made_by_admins_in_person_for_others(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let author = app.user_with_role("eve", "author").await;
    let key = admin.key(&app.bearer).await.token;
    try_link(&app.bearer, ann.id)
        .await
        .expect_detail(401, "Not authenticated.");
    for credential in [&bob.token, &author.token, &ann.token, &key] {
        let api = app.bearer.with_token(credential);
        for id in [ann.id, admin.id, 999_999] {
            let refused = try_link(&api, id).await;
            refused.expect_detail(403, "Insufficient privileges.");
        }
    }
    let as_admin = app.bearer.with_token(&admin.token);
    let own = try_link(&as_admin, admin.id).await;
    own.expect_detail(400, "Use /profile/password to change your own password.");
    try_link(&as_admin, 999_999)
        .await
        .expect_detail(404, "User not found.");
    let post = as_admin.request(Method::POST, "/users/x/password-link");
    let not_a_number = "Path parameter \"user_id\" must be an integer.";
    as_admin.send(post).await.expect_detail(400, not_a_number);
    assert_eq!(
        app.database.count_rows("SELECT 1 FROM password_link").await,
        0
    );
    // A session may create a link, and another admin may create one for the user `admin`.
    let session = app
        .bearer
        .with_token(&admin.session(&app.bearer).await.token);
    try_link(&session, ann.id).await.expect(201);
    let boss = app.user_with_role("boss", "admin").await;
    let token = new_link(&app, &boss, admin.id).await;
    redeem(&app.bearer, &token, "chosen by the admin")
        .await
        .expect_message(DONE);
    app.try_log_in("admin", "chosen by the admin")
        .await
        .expect(200);
}

async fn a_refused_password_leaves_the_link_good(setup: TestSetup) {
    let list = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(list.path(), "letmein, please\n").expect("written");
    let setup = setup.with("PASSWORD_MIN_LENGTH", "8");
    let app = setup
        .with_file("PASSWORD_BLOCKLIST_FILE", list.path())
        .start()
        .await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let token = new_link(&app, &admin, ann.id).await;
    let too_long = "x".repeat(73);
    for (password, rule) in [
        ("", "Password must have at least 8 bytes."),
        ("1234567", "Password must have at least 8 bytes."),
        (&*too_long, "Password must have at most 72 bytes."),
        ("12345678\0", "Password must not contain NUL."),
        ("letmein, please", "Password is too common."),
    ] {
        let refused = redeem(&app.bearer, &token, password).await;
        refused.expect_detail(400, rule);
        refused.expect_header("rolegate-reason", Some("PASSWORD_INVALID"));
        // A client without a valid link learns nothing about the rules for passwords.
        expect_invalid(&redeem(&app.bearer, "rgl_x", password).await);
    }
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect(200);
    redeem(&app.bearer, &token, "12345678")
        .await
        .expect_message(DONE);
    app.try_log_in("ann", "12345678").await.expect(200);
}

async fn bad_tokens_are_limited_for_each_client_address(setup: TestSetup) {
    const GUESSER: &str = "203.0.113.5";
    const HOME: &str = "198.51.100.7";
    let setup = setup
        .with("TRUSTED_PROXIES", "127.0.0.0/8")
        .with("LOGIN_FAILURE_LIMIT", "3");
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let from = async |client: &str, token: &str, password: &str| {
        let body = json!({ "token": token, "password": password });
        app.bearer
            .send_from(
                client,
                app.bearer.request(Method::PUT, "/password").json(&body),
            )
            .await
    };
    let unknown = format!("rgl_{}", "A".repeat(43));
    let token = new_link(&app, &admin, ann.id).await;
    // A refusal of the new password does not count as a failure, because the token is valid.
    for _ in 0..5 {
        from(GUESSER, &token, "").await.expect_error(400);
    }
    let look_up_from = async |client: &str, token: &str| {
        let request = app.bearer.request(Method::POST, "/password-link");
        let request = request.json(&json!({ "token": token }));
        app.bearer.send_from(client, request).await
    };
    for _ in 0..5 {
        look_up_from(GUESSER, &token).await.expect(200);
    }
    // Setting a password and looking up a link share the limit.
    expect_invalid(&from(GUESSER, &unknown, "x").await);
    expect_invalid(&look_up_from(GUESSER, "").await);
    expect_invalid(&from(GUESSER, "rgl_x", "x").await);
    for token in [&unknown, &token] {
        for refused in [
            from(GUESSER, token, "chosen").await,
            look_up_from(GUESSER, token).await,
        ] {
            refused
                .expect_detail(429, "Too many attempts, try again later.")
                .expect_retry_after();
        }
    }
    for round in 0..5 {
        let token = new_link(&app, &admin, ann.id).await;
        from(HOME, &token, &format!("chosen {round}"))
            .await
            .expect_message(DONE);
    }
    // The failures with links do not count as attempts to log in.
    app.try_log_in("ann", "chosen 4").await.expect(200);
}

async fn every_bad_token_gets_the_same_response(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let token = new_link(&app, &admin, ann.id).await;
    let last = if token.ends_with('A') { 'E' } else { 'A' };
    let unknown = format!("rgl_{}", "A".repeat(43));
    let first = redeem(&app.bearer, &unknown, "x").await;
    expect_invalid(&first);
    first.expect_header("www-authenticate", None);
    for bad in [
        String::new(),
        "rgl_".to_owned(),
        token[4..].to_owned(),
        token[..46].to_owned(),
        format!("{}{last}", &token[..46]),
        format!("{token}A"),
        format!("{token}="),
        format!(" {token}"),
        format!("{token}\0"),
        format!("/set-password#{token}"),
        token.replacen("rgl_", "RGL_", 1),
        token.replacen("rgl_", "rgs_", 1),
        admin.session(&app.bearer).await.token,
        admin.key(&app.bearer).await.token,
        admin.token.clone(),
        "x".repeat(10_000),
    ] {
        for response in [
            redeem(&app.bearer, &bad, "x").await,
            look_up(&app.bearer, &bad).await,
        ] {
            assert_eq!(response.comparable(), first.comparable(), "{bad:?}");
        }
    }
    let put = async |content_type: &str, body: &str| {
        let request = app.bearer.request(Method::PUT, "/password");
        app.bearer
            .send(
                request
                    .header(CONTENT_TYPE, content_type)
                    .body(body.to_owned()),
            )
            .await
    };
    put("text/plain", "{}").await.expect_error(415);
    for (body, field) in [
        ("{}", "token"),
        (r#"{"token":7,"password":"x"}"#, "token"),
        (r#"{"token":"x"}"#, "password"),
        (r#"{"token":"x","password":null}"#, "password"),
    ] {
        let detail = put("application/json", body).await.expect_error(400);
        assert!(detail.contains(&format!("{field:?}")), "{detail}");
    }
    // The request needs no credential, and an invalid one changes nothing.
    redeem(&app.bearer.with_token("bad"), &token, "chosen")
        .await
        .expect_message(DONE);
    app.try_log_in("ann", "chosen").await.expect(200);
}

async fn admins_set_no_passwords_where_links_are_the_only_way(setup: TestSetup) {
    let app = setup.with("ADMINS_SET_PASSWORDS", "off").start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}/password", ann.id);
    let new = json!({ "username": "bob", "password": "known to the admin" });
    for refused in [
        as_admin
            .put(&path, &json!({ "password": "known to the admin" }))
            .await,
        as_admin.post("/users", &new).await,
        // The refusal does not depend on the password.
        as_admin.put(&path, &json!({ "password": "" })).await,
    ] {
        refused.expect_detail(403, "Users choose their passwords by a link.");
        refused.expect_header("rolegate-reason", Some("PASSWORD_LINK_REQUIRED"));
    }
    // A user who is no admin learns nothing about the setting.
    let own = app.bearer.with_token(&ann.token);
    own.post("/users", &new)
        .await
        .expect_detail(403, "Insufficient privileges.");
    assert_eq!(app.database.count_users().await, 2);
    app.try_log_in("ann", &ann.password).await.expect(200);
    // Users may still change their own passwords, which nobody else then knows.
    let change = json!({ "current_password": ann.password, "new_password": "own" });
    own.put("/profile/password", &change)
        .await
        .expect_message(DONE);
    app.try_register("eve", "a password").await.expect(200);
    let token = new_link(&app, &admin, ann.id).await;
    redeem(&app.bearer, &token, "chosen")
        .await
        .expect_message(DONE);
    as_admin
        .post("/users", &json!({ "username": "bob" }))
        .await
        .expect(201);
}
