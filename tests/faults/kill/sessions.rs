//! Checks that acknowledged sessions, and acknowledged ends of sessions, survive a SIGKILL.

use crate::ended_sessions::EndedSessions;
use e2e::{
    Api, TestResponse, TestSetup, TestUser, for_all_deployments, for_two_deployments, proof,
};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    task::JoinSet,
};

for_two_deployments!(acknowledged_sessions_and_ends_of_sessions_survive);
for_all_deployments!(sessions_that_were_made_and_ended_under_load_are_as_acknowledged);

const LANES: usize = 4;

async fn acknowledged_sessions_and_ends_of_sessions_survive(setup: TestSetup) {
    let mut app = setup.start().await;
    let admin = app.admin().await;
    let sessions = EndedSessions::of_each_way(&app.bearer, &admin).await;
    sessions.expect(&app.bearer).await;
    for _ in 0..2 {
        app.kill_auth().await;
        app.start_auth(None).await;
        let [changes, wrong] = sessions.expect(&app.bearer).await;
        proof(
            "kill",
            &[("kills", 1), ("acknowledged changes", changes)],
            &[("lost", wrong)],
        );
    }
}

/// What was last acknowledged about a session: its token, and whether it is valid.
type Acknowledged = (String, bool);

async fn sessions_that_were_made_and_ended_under_load_are_as_acknowledged(setup: TestSetup) {
    let mut app = setup.start().await;
    let (acknowledged, mut heard) = unbounded_channel();
    let mut lanes = JoinSet::new();
    for number in 0..LANES {
        let user = app.user(&format!("user {number}")).await;
        lanes.spawn(make_and_end(app.bearer.clone(), user, acknowledged.clone()));
    }
    drop(acknowledged);
    let mut sessions = Vec::new();
    while sessions.len() < 10 * LANES {
        sessions.push(heard.recv().await.expect("sessions are made and ended"));
    }
    app.kill_auth().await;
    lanes.join_all().await;
    while let Some(session) = heard.recv().await {
        sessions.push(session);
    }
    app.start_auth(None).await;
    let mut lost = Vec::new();
    for (token, is_good) in &sessions {
        let answer = app.bearer.with_token(token).get("/profile").await;
        if answer.status != if *is_good { 200 } else { 401 } {
            lost.push(format!("good: {is_good}, {answer}"));
        }
    }
    assert!(lost.is_empty(), "{lost:?}");
    proof(
        "kill",
        &[("kills", 1), ("acknowledged changes", sessions.len())],
        &[("lost", lost.len())],
    );
}

/// Creates sessions and ends every second one, until a request fails or gets no answer. It creates at most as many as a
/// user may have.
async fn make_and_end(api: Api, user: TestUser, acknowledged: UnboundedSender<Acknowledged>) {
    let body = json!({ "username": user.username, "password": user.password });
    for number in 0..80 {
        let made = api.request(Method::POST, "/sessions").json(&body);
        let Some(made) = sent(&api, made, 201).await else {
            return;
        };
        let token = made.json()["token"].as_str().expect("a token").to_owned();
        if number % 2 == 0 {
            acknowledged.send((token, true)).expect("received");
            continue;
        }
        let own = api.with_token(&token);
        let Some(_) = sent(&own, own.request(Method::POST, "/logout"), 200).await else {
            return;
        };
        acknowledged.send((token, false)).expect("received");
    }
}

async fn sent(api: &Api, request: RequestBuilder, status: u16) -> Option<TestResponse> {
    let answer = api.try_send(request).await.ok()?;
    (answer.status == status).then_some(answer)
}
