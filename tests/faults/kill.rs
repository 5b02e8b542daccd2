//! Checks that acknowledged writes survive a SIGKILL of any process.

mod sessions;

use e2e::{TestSetup, for_all_deployments, for_two_deployments, proof};
use reqwest::Method;
use serde_json::json;

for_all_deployments!(
    acknowledged_registration_survives,
    acknowledged_role_change_survives,
    acknowledged_registrations_survive_a_kill_under_load,
);
for_two_deployments!(
    acknowledged_logout_survives,
    acknowledged_revocation_by_an_admin_survives,
    acknowledged_changes_of_api_keys_survive,
    clients_continue_after_the_gateway_was_killed,
);

async fn acknowledged_registration_survives(setup: TestSetup) {
    let mut app = setup.start().await;
    app.try_register("ann", "a password").await.expect(200);
    app.kill_auth().await;
    app.start_auth(None).await;
    app.try_log_in("ann", "a password").await.expect(200);
    let response = app.try_register("ann", "a password").await;
    response.expect_detail(400, "Username already exists.");
}

async fn acknowledged_role_change_survives(setup: TestSetup) {
    let mut app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    app.set_role(&admin, &ann, "author").await.expect(200);
    app.kill_auth().await;
    app.start_auth(None).await;
    let response = app.bearer.with_token(&ann.token).get("/author").await;
    response.expect_message("Welcome Author!");
}

async fn acknowledged_logout_survives(setup: TestSetup) {
    let mut app = setup.start().await;
    let ann = app.user("ann").await;
    let api = app.bearer.with_token(&ann.token);
    api.send(api.request(Method::POST, "/logout"))
        .await
        .expect(200);
    app.kill_auth().await;
    app.start_auth(None).await;
    let refused = app.bearer.with_token(&ann.token).get("/profile").await;
    refused.expect_detail(401, "Invalid or expired token.");
    app.try_log_in("ann", &ann.password).await.expect(200);
}

async fn acknowledged_revocation_by_an_admin_survives(setup: TestSetup) {
    let mut app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let api = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}/tokens", ann.id);
    api.send(api.request(Method::DELETE, &path))
        .await
        .expect(200);
    app.kill_auth().await;
    app.start_auth(None).await;
    let refused = app.bearer.with_token(&ann.token).get("/profile").await;
    refused.expect_detail(401, "Invalid or expired token.");
    app.bearer
        .with_token(&admin.token)
        .get("/admin")
        .await
        .expect(200);
}

async fn acknowledged_changes_of_api_keys_survive(setup: TestSetup) {
    let mut app = setup.start().await;
    let ann = app.user("ann").await;
    let own = app.bearer.with_token(&ann.token);
    let made = own
        .post("/profile/keys", &json!({ "name": "export" }))
        .await
        .expect(201)
        .json();
    app.kill_auth().await;
    app.start_auth(None).await;
    let api = app.bearer.with_token(made["key"].as_str().expect("a key"));
    api.get("/profile").await.expect(200);
    let own = app.bearer.with_token(&ann.token);
    let path = format!("/profile/keys/{}", made["id"]);
    own.send(own.request(Method::DELETE, &path))
        .await
        .expect(200);
    app.kill_auth().await;
    app.start_auth(None).await;
    let api = app.bearer.with_token(made["key"].as_str().expect("a key"));
    api.get("/profile")
        .await
        .expect_detail(401, "Invalid or expired token.");
}

async fn acknowledged_registrations_survive_a_kill_under_load(setup: TestSetup) {
    let mut app = setup.start().await;
    let api = app.bearer.clone();
    let (acknowledged, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let registering: Vec<_> = (0..4)
        .map(|lane| {
            let (api, acknowledged) = (api.clone(), acknowledged.clone());
            tokio::spawn(async move {
                for index in 0.. {
                    let name = format!("user {lane} {index}");
                    let body = json!({ "username": name, "password": "pw" });
                    let request = api.request(Method::POST, "/register").json(&body);
                    match api.try_send(request).await {
                        Ok(response) if response.status == 200 => {
                            acknowledged.send(name).expect("received");
                        }
                        _ => return,
                    }
                }
            })
        })
        .collect();
    drop(acknowledged);
    let mut names = Vec::new();
    while names.len() < 40 {
        names.push(heard.recv().await.expect("registrations go on"));
    }
    app.kill_auth().await;
    for lane in registering {
        lane.await.expect("it ended at the first failure");
    }
    while let Some(name) = heard.recv().await {
        names.push(name);
    }
    app.start_auth(None).await;
    let mut lost = Vec::new();
    for name in &names {
        if app.database.user(name).await.is_none() {
            lost.push(name);
        }
    }
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    proof(
        "kill",
        &[("kills", 1), ("acknowledged changes", names.len())],
        &[("lost", lost.len())],
    );
}

async fn clients_continue_after_the_gateway_was_killed(setup: TestSetup) {
    let mut app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    app.restart_gateway().await;
    let response = app.bearer.with_token(&ann.token).get("/author").await;
    response.expect_message("Welcome Author!");
    let response = app
        .basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await;
    response.expect_message("Welcome ann!");
}
