//! Sessions that end while something else is done by them or by their password.

use crate::sessions::create_session;
use e2e::{TestResponse, TestSetup, for_two_deployments};
use reqwest::Method;
use serde_json::json;
use tokio::join;

for_two_deployments!(
    no_session_of_an_old_password_outlives_its_change,
    a_session_makes_keys_before_its_logout_and_never_after,
    of_two_sessions_that_end_each_other_at_once_neither_gets_an_error,
);

const ROUNDS: usize = 15;
const ENDED: &str = "Invalid or expired token.";

async fn no_session_of_an_old_password_outlives_its_change(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, mut ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let (mut before, mut after) = (0, 0);
    for round in 0..ROUNDS {
        let make = async || {
            let body = json!({ "username": "ann", "password": ann.password });
            app.bearer.post("/sessions", &body).await
        };
        let new = format!("password {round}");
        let change = async {
            let set = json!({ "password": new });
            as_admin.put(&format!("/users/{}/password", ann.id), &set).await.expect(200);
        };
        let (one, (), two, three) = join!(make(), change, make(), make());
        for response in [one, two, three] {
            if response.status == 201 {
                let token = response.json()["token"].as_str().expect("a token").to_owned();
                let late = app.bearer.with_token(&token).get("/profile").await;
                late.expect_detail(401, ENDED);
                before += 1;
            } else {
                response.expect_detail(401, "Invalid username or password.");
                after += 1;
            }
        }
        ann.password = new;
        let (token, session) = create_session(&app.bearer, "ann", &ann.password).await;
        let sessions = app.bearer.with_token(&token).get("/profile/sessions").await.json();
        let ids: Vec<_> =
            sessions["sessions"].as_array().into_iter().flatten().map(|it| &it["id"]).collect();
        assert_eq!(ids, [&session["id"]]);
    }
    assert_eq!(before + after, 3 * ROUNDS);
}

async fn a_session_makes_keys_before_its_logout_and_never_after(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let mut made = 0;
    for round in 0..ROUNDS {
        let (token, _) = create_session(&app.bearer, "ann", &ann.password).await;
        let api = app.bearer.with_token(&token);
        let key = async |lane: u8| {
            api.post("/profile/keys", &json!({ "name": format!("{round} {lane}") })).await
        };
        let log_out = async || api.send(api.request(Method::POST, "/logout")).await;
        let (one, ended, two, again) = join!(key(1), log_out(), key(2), log_out());
        assert!(ended.status == 200 || again.status == 200, "{ended} {again}");
        for response in [one, two] {
            match response.status {
                201 => made += 1,
                _ => _ = response.expect_detail(401, ENDED),
            }
        }
        key(3).await.expect_detail(401, ENDED);
    }
    // Each that was made is there, and no other.
    let keys = app.bearer.with_token(&ann.token).get("/profile/keys").await.expect(200).json();
    assert_eq!(keys["keys"].as_array().map(Vec::len), Some(made));
}

async fn of_two_sessions_that_end_each_other_at_once_neither_gets_an_error(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let end_others = async |token: &str| -> TestResponse {
        let api = app.bearer.with_token(token);
        api.send(api.request(Method::DELETE, "/profile/sessions")).await
    };
    for _ in 0..ROUNDS {
        let make = async || create_session(&app.bearer, "ann", &ann.password).await.0;
        let (one, two, other) = (make().await, make().await, make().await);
        let (by_one, by_two) = join!(end_others(&one), end_others(&two));
        for response in [&by_one, &by_two] {
            match response.status {
                200 => _ = response.expect_message("Sessions ended."),
                // The other one was first.
                _ => _ = response.expect_detail(401, ENDED),
            }
        }
        assert!(by_one.status == 200 || by_two.status == 200, "{by_one} {by_two}");
        app.bearer.with_token(&other).get("/profile").await.expect_detail(401, ENDED);
    }
}
