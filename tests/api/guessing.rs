//! One client guesses passwords while others send ordinary requests.

use crate::metrics::{scrape, value};
use e2e::{ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, eventually, for_two_deployments};
use reqwest::Method;
use serde_json::{Value, json};

for_two_deployments!(
    a_guesser_over_the_limit_is_refused_even_with_a_password_that_basic_remembers,
    requests_that_share_calls_are_counted_and_limited_as_if_alone,
    a_remembered_password_is_audited_once_for_each_address,
    a_refused_client_stays_refused_and_others_do_not,
);

const HOME: &str = "198.51.100.7";
const GUESSER: &str = "203.0.113.5";

async fn start(setup: TestSetup) -> TestApp {
    let setup = setup
        .with("TRUSTED_PROXIES", "127.0.0.0/8")
        .with("LOG_FORMAT", "json");
    setup.with("LOGIN_FAILURE_LIMIT", "2").start().await
}

async fn basic(app: &TestApp, from: &str, password: &str) -> TestResponse {
    let api = app.basic.with_basic("admin", password);
    api.send_from(from, api.request(Method::GET, "/protected"))
        .await
}

async fn log_in(app: &TestApp, from: &str, username: &str, password: &str) -> TestResponse {
    let body = json!({ "username": username, "password": password });
    app.bearer
        .send_from(from, app.bearer.request(Method::POST, "/login").json(&body))
        .await
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
    log_in(&app, GUESSER, "admin", ADMIN_PASSWORD)
        .await
        .expect(429);
}

async fn requests_that_share_calls_are_counted_and_limited_as_if_alone(setup: TestSetup) {
    let app = start(setup).await;
    let all = async |requests: &[(&'static str, &'static str)]| {
        let requests = requests
            .iter()
            .map(|&(from, password)| basic(&app, from, password));
        futures_util::future::join_all(requests).await
    };
    for from in [HOME, GUESSER] {
        basic(&app, from, ADMIN_PASSWORD).await.expect(200);
    }
    let mut accepted = 2.0;
    let calls = r#"{code="OK",method="BatchVerifyCredentials",service="#;
    while !scrape(app.auth()).await.contains(calls) {
        for response in all(&[(HOME, ADMIN_PASSWORD); 16]).await {
            response.expect_message("Welcome admin!");
            accepted += 1.0;
        }
    }
    // The two guesses differ, because the same guess sent twice would count as one attempt.
    let guesses = [
        (HOME, ADMIN_PASSWORD),
        (GUESSER, "wrong"),
        (GUESSER, "guess"),
    ];
    for (response, status) in all(&guesses).await.iter().zip([200, 401, 401]) {
        response.expect(status);
    }
    for (index, response) in all(&[(HOME, ADMIN_PASSWORD), (GUESSER, ADMIN_PASSWORD)].repeat(16))
        .await
        .iter()
        .enumerate()
    {
        if index % 2 == 0 {
            response.expect(200);
        } else {
            response
                .expect_detail(429, "Too many attempts, try again later.")
                .expect_retry_after();
        }
    }
    accepted += 17.0;
    let metrics = scrape(app.auth()).await;
    for (series, expected) in [
        (
            r#"rolegate_logins_total{method="basic",outcome="OK"}"#,
            accepted,
        ),
        (
            r#"rolegate_logins_total{method="basic",outcome="CREDENTIALS_INVALID"}"#,
            2.0,
        ),
        (
            r#"rolegate_logins_total{method="basic",outcome="TOO_MANY_ATTEMPTS"}"#,
            16.0,
        ),
        (r#"rolegate_limit_refusals_total{limit="login"}"#, 16.0),
        ("rolegate_basic_cache_hits_total", accepted - 2.0),
    ] {
        assert!(
            (value(&metrics, series) - expected).abs() < 0.1,
            "{series}: {expected}\n{metrics}"
        );
    }
}

async fn a_remembered_password_is_audited_once_for_each_address(setup: TestSetup) {
    let app = start(setup).await;
    for _ in 0..3 {
        for from in [HOME, GUESSER] {
            basic(&app, from, ADMIN_PASSWORD).await.expect(200);
        }
    }
    // A registration comes last: once it is logged, all earlier events are logged, too.
    app.user("ann").await;
    let events = eventually("the audit", async || {
        let log = app.auth().stderr();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let lines =
            lines.filter(|line| line["target"] == "audit" && line["event"] != "audit_sealed");
        let events: Vec<_> = lines
            .map(|line| format!("{} {}", line["event"], line["client_address"]).replace('"', ""))
            .collect();
        events
            .iter()
            .any(|event| event.starts_with("registered"))
            .then_some(events)
    })
    .await;
    let logins: Vec<_> = events
        .iter()
        .take_while(|event| !event.starts_with("reg"))
        .collect();
    assert_eq!(
        logins,
        [&format!("login_ok {HOME}"), &format!("login_ok {GUESSER}")]
    );
}

async fn a_refused_client_stays_refused_and_others_do_not(setup: TestSetup) {
    let app = start(setup).await;
    app.user("ann").await;
    // Thirty failures are fifteen times the limit for an address.
    for number in 0..30 {
        log_in(&app, GUESSER, &format!("stranger {number}"), "wrong")
            .await
            .expect(401);
    }
    for _ in 0..3 {
        let refused = log_in(&app, GUESSER, "ann", "wrong").await;
        refused.expect_detail(429, "Too many attempts, try again later.");
        refused.expect_retry_after();
        basic(&app, GUESSER, ADMIN_PASSWORD).await.expect(429);
        log_in(&app, HOME, "admin", ADMIN_PASSWORD)
            .await
            .expect(200);
    }
}
