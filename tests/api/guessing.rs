//! Guesses of passwords by one client, seen beside the requests of others.

use e2e::{ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, eventually, for_two_deployments};
use reqwest::Method;
use serde_json::{Value, json};

for_two_deployments!(
    a_guesser_over_the_limit_is_refused_even_with_a_password_that_basic_remembers,
    a_remembered_password_is_audited_once_for_each_address,
    a_refused_client_stays_refused_and_others_do_not,
);

const HOME: &str = "198.51.100.7";
const GUESSER: &str = "203.0.113.5";

async fn start(setup: TestSetup) -> TestApp {
    let setup = setup.with("TRUSTED_PROXIES", "127.0.0.0/8").with("LOG_FORMAT", "json");
    setup.with("LOGIN_FAILURE_LIMIT", "2").start().await
}

async fn basic(app: &TestApp, from: &str, password: &str) -> TestResponse {
    let api = app.basic.with_basic("admin", password);
    api.send_from(from, api.request(Method::GET, "/protected")).await
}

async fn log_in(app: &TestApp, from: &str, username: &str, password: &str) -> TestResponse {
    let body = json!({ "username": username, "password": password });
    app.bearer.send_from(from, app.bearer.request(Method::POST, "/login").json(&body)).await
}

async fn a_guesser_over_the_limit_is_refused_even_with_a_password_that_basic_remembers(
    setup: TestSetup,
) {
    let app = start(setup).await;
    basic(&app, HOME, ADMIN_PASSWORD).await.expect(200);
    for _ in 0..2 {
        basic(&app, GUESSER, "wrong").await.expect(401);
    }
    for _ in 0..3 {
        basic(&app, GUESSER, "wrong").await.expect(429);
        basic(&app, GUESSER, ADMIN_PASSWORD).await.expect(429);
        basic(&app, HOME, ADMIN_PASSWORD).await.expect(200);
    }
    log_in(&app, GUESSER, "admin", ADMIN_PASSWORD).await.expect(429);
}

async fn a_remembered_password_is_audited_once_for_each_address(setup: TestSetup) {
    let app = start(setup).await;
    for _ in 0..3 {
        for from in [HOME, GUESSER] {
            basic(&app, from, ADMIN_PASSWORD).await.expect(200);
        }
    }
    // A last event, so that no earlier one can be missing.
    app.user("ann").await;
    let events = eventually("the audit", async || {
        let log = app.auth().stderr();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let lines = lines.filter(|line| line["target"] == "audit");
        let events: Vec<_> = lines
            .map(|line| format!("{} {}", line["event"], line["client_address"]).replace('"', ""))
            .collect();
        events.iter().any(|event| event.starts_with("registered")).then_some(events)
    })
    .await;
    let logins: Vec<_> = events.iter().take_while(|event| !event.starts_with("reg")).collect();
    assert_eq!(logins, [&format!("login_ok {HOME}"), &format!("login_ok {GUESSER}")]);
}

async fn a_refused_client_stays_refused_and_others_do_not(setup: TestSetup) {
    let app = start(setup).await;
    app.user("ann").await;
    // Fifteen times the limit for an address.
    for number in 0..30 {
        log_in(&app, GUESSER, &format!("stranger {number}"), "wrong").await.expect(401);
    }
    for _ in 0..3 {
        let refused = log_in(&app, GUESSER, "ann", "wrong").await;
        refused.expect_detail(429, "Too many attempts, try again later.");
        refused.expect_retry_after();
        basic(&app, GUESSER, ADMIN_PASSWORD).await.expect(429);
        log_in(&app, HOME, "admin", ADMIN_PASSWORD).await.expect(200);
    }
}
