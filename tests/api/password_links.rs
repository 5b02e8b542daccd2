//! Links at which users choose their passwords: how they are created, used and ended.
//!
//! This file has the helpers and the ordinary case. `new_users` has links for new users, `ends`
//! what ends a link, `rules` what is refused, `origin` where links lead, `replicas` links at
//! several replicas, and `record` what is recorded.

mod ends;
mod new_users;
mod origin;
mod record;
mod replicas;
mod rules;

use crate::sessions::sign_in;
use e2e::{Api, TestApp, TestResponse, TestSetup, TestUser, for_all_deployments, token};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

for_all_deployments!(a_user_chooses_a_password_by_a_link_that_is_good_once);

pub(crate) const DONE: &str = "Password updated successfully.";
const ENDED: &str = "Invalid or expired token.";
const WRONG_PASSWORD: &str = "Invalid username or password.";

/// Asks for a link for the user with this id.
pub(crate) async fn try_link(api: &Api, id: i64) -> TestResponse {
    api.send(api.request(Method::POST, &format!("/users/{id}/password-link")))
        .await
}

/// Returns the token in the `url` of a link, which must begin with `start`.
#[track_caller]
pub(crate) fn token_in(link: &Value, start: &str) -> String {
    let url = link["url"].as_str().expect("a URL");
    let token = url
        .strip_prefix(start)
        .and_then(|rest| rest.strip_prefix("/set-password#"));
    let token = token
        .unwrap_or_else(|| panic!("{url} is not of {start:?}"))
        .to_owned();
    assert!(token.starts_with("rgl_") && token.len() == 47, "{url}");
    let end = humantime::parse_rfc3339(link["expires_at"].as_str().expect("a time"));
    let end = end
        .expect("RFC 3339")
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_secs();
    let left = end - token::now();
    assert!((86_100..=86_410).contains(&left), "{left} seconds are left");
    token
}

/// Creates a link and returns its token.
pub(crate) async fn new_link(app: &TestApp, admin: &TestUser, id: i64) -> String {
    let made = try_link(&app.bearer.with_token(&admin.token), id).await;
    let link = made.expect(201).json();
    assert_eq!(
        link.as_object().map(serde_json::Map::len),
        Some(2),
        "{made}"
    );
    token_in(&link, "")
}

pub(crate) async fn redeem(api: &Api, token: &str, password: &str) -> TestResponse {
    api.put(
        "/password",
        &json!({ "token": token, "password": password }),
    )
    .await
}

/// Asks which user a link belongs to.
async fn look_up(api: &Api, token: &str) -> TestResponse {
    api.post("/password-link", &json!({ "token": token })).await
}

#[track_caller]
fn expect_invalid(response: &TestResponse) {
    response.expect_detail(400, "Invalid or expired link.");
    response.expect_header("rolegate-reason", Some("LINK_INVALID"));
}

async fn a_user_chooses_a_password_by_a_link_that_is_good_once(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let key = app.bearer.with_token(&ann.key(&app.bearer).await.token);
    let (session, _) = sign_in(&app, &ann).await;
    let basic = app.basic.with_basic("ann", &ann.password);
    // The password is in the Basic cache from now on.
    basic.get("/protected").await.expect(200);
    let token = new_link(&app, &admin, ann.id).await;
    // Creating a link changes nothing yet, and its token is no credential.
    app.try_log_in("ann", &ann.password).await.expect(200);
    app.bearer
        .with_token(&token)
        .get("/profile")
        .await
        .expect_detail(401, ENDED);

    for _ in 0..2 {
        let owner = look_up(&app.bearer, &token).await.expect(200).json();
        assert_eq!(owner["username"], "ann", "{owner}");
        let url =
            json!({ "url": format!("/set-password#{token}"), "expires_at": owner["expires_at"] });
        assert_eq!(token_in(&url, ""), token, "{owner}");
    }

    redeem(&app.bearer, &token, "chosen by ann")
        .await
        .expect_message(DONE);
    expect_invalid(&look_up(&app.bearer, &token).await);
    for password in ["again", "chosen by ann"] {
        expect_invalid(&redeem(&app.bearer, &token, password).await);
    }
    for ended in [&app.bearer.with_token(&ann.token), &session] {
        ended.get("/profile").await.expect_detail(401, ENDED);
    }
    basic
        .get("/protected")
        .await
        .expect_detail(401, WRONG_PASSWORD);
    app.try_log_in("ann", &ann.password)
        .await
        .expect_detail(401, WRONG_PASSWORD);
    key.get("/profile").await.expect(200);
    app.basic
        .with_basic("ann", "chosen by ann")
        .get("/protected")
        .await
        .expect(200);
    let new = TestUser::log_in(&app.bearer, "ann", "chosen by ann").await;
    app.bearer
        .with_token(&new.token)
        .get("/profile")
        .await
        .expect(200);
    for other in [&admin, &bob] {
        app.bearer
            .with_token(&other.token)
            .get("/profile")
            .await
            .expect(200);
        app.try_log_in(&other.username, &other.password)
            .await
            .expect(200);
    }
}
