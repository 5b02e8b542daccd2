//! Sessions that end while their token or their user's password is in use.

use crate::sessions::create_session;
use e2e::{TestResponse, TestSetup, for_two_deployments};
use reqwest::Method;
use serde_json::json;
use tokio::join;

for_two_deployments!(
    no_session_of_an_old_password_outlives_its_change,
    a_session_makes_keys_before_its_logout_and_never_after,
    of_two_sessions_that_end_each_other_at_once_neither_gets_an_error,
    sessions_that_are_made_used_and_ended_at_once_never_get_an_error,
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
            as_admin
                .put(&format!("/users/{}/password", ann.id), &set)
                .await
                .expect(200);
        };
        let (one, (), two, three) = join!(make(), change, make(), make());
        for response in [one, two, three] {
            if response.status == 201 {
                let token = response.json()["token"]
                    .as_str()
                    .expect("a token")
                    .to_owned();
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
        let sessions = app
            .bearer
            .with_token(&token)
            .get("/profile/sessions")
            .await
            .json();
        let ids: Vec<_> = sessions["sessions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| &it["id"])
            .collect();
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
            api.post(
                "/profile/keys",
                &json!({ "name": format!("{round} {lane}") }),
            )
            .await
        };
        let log_out = async || api.send(api.request(Method::POST, "/logout")).await;
        let (one, ended, two, again) = join!(key(1), log_out(), key(2), log_out());
        assert!(
            ended.status == 200 || again.status == 200,
            "{ended} {again}"
        );
        for response in [one, two] {
            match response.status {
                201 => made += 1,
                _ => _ = response.expect_detail(401, ENDED),
            }
        }
        key(3).await.expect_detail(401, ENDED);
    }
    // The list has exactly the keys that were created.
    let keys = app
        .bearer
        .with_token(&ann.token)
        .get("/profile/keys")
        .await
        .expect(200)
        .json();
    assert_eq!(keys["keys"].as_array().map(Vec::len), Some(made));
}

async fn of_two_sessions_that_end_each_other_at_once_neither_gets_an_error(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let end_others = async |token: &str| -> TestResponse {
        let api = app.bearer.with_token(token);
        api.send(api.request(Method::DELETE, "/profile/sessions"))
            .await
    };
    for _ in 0..ROUNDS {
        let make = async || create_session(&app.bearer, "ann", &ann.password).await.0;
        let (one, two, other) = (make().await, make().await, make().await);
        let (by_one, by_two) = join!(end_others(&one), end_others(&two));
        for response in [&by_one, &by_two] {
            match response.status {
                200 => _ = response.expect_message("Sessions ended."),
                // The other session was faster and ended this one.
                _ => _ = response.expect_detail(401, ENDED),
            }
        }
        assert!(
            by_one.status == 200 || by_two.status == 200,
            "{by_one} {by_two}"
        );
        app.bearer
            .with_token(&other)
            .get("/profile")
            .await
            .expect_detail(401, ENDED);
    }
}

/// The writes of these requests must not deadlock, whatever their order.
async fn sessions_that_are_made_used_and_ended_at_once_never_get_an_error(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let lanes = (0..8).map(|lane| {
        let (bearer, ann) = (app.bearer.clone(), ann.clone());
        let as_admin = app.bearer.with_token(&admin.token);
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let body = json!({ "username": "ann", "password": ann.password });
                let made = bearer.post("/sessions", &body).await;
                // Revocations at the same time made both attempts of this sign-in fail.
                if made.status == 401 {
                    continue;
                }
                let token = made.expect(201).json()["token"]
                    .as_str()
                    .expect("one")
                    .to_owned();
                let api = bearer.with_token(&token);
                api.get("/me").await;
                let password =
                    json!({ "current_password": ann.password, "new_password": ann.password });
                let set = json!({ "password": ann.password });
                let of_ann = format!("/users/{}", ann.id);
                let delete = |path: &str| as_admin.request(Method::DELETE, path);
                let response = match (lane + round) % 6 {
                    0 => api.send(api.request(Method::POST, "/logout")).await,
                    1 => {
                        api.send(api.request(Method::DELETE, "/profile/sessions"))
                            .await
                    }
                    2 => api.put("/profile/password", &password).await,
                    3 => as_admin.put(&format!("{of_ann}/password"), &set).await,
                    4 => as_admin.send(delete(&format!("{of_ann}/sessions"))).await,
                    _ => as_admin.send(delete(&format!("{of_ann}/tokens"))).await,
                };
                assert!([200, 401].contains(&response.status), "{response}");
            }
        })
    });
    for lane in lanes.collect::<Vec<_>>() {
        lane.await.expect("no response was an error");
    }
}
