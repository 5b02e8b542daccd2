//! More passwords come than can be hashed in time.

use e2e::{
    ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, for_postgres_deployments,
    for_split_deployments,
};
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

for_split_deployments!(overload_is_503_and_does_not_count_as_an_attempt);
for_postgres_deployments!(request_rejected_for_overload_costs_no_query);

/// An engine of one lane, with hashes of seconds each.
fn slow(setup: TestSetup) -> TestSetup {
    let settings = [("BCRYPT_COST", "15"), ("BCRYPT_THREADS", "1"), ("BCRYPT_LANES", "1")];
    let setup = settings.iter().fold(setup, |setup, (name, value)| setup.with(name, value));
    setup.with_real_hashes().with("LOGIN_FAILURE_LIMIT", "3").with("REGISTRATION_LIMIT", "1")
}

/// Logins of one name after the other until one is refused; then the engine is full, for as long as
/// this set is kept.
async fn fill(app: &TestApp) -> JoinSet<TestResponse> {
    let mut logins = JoinSet::new();
    let mut number = 0;
    loop {
        let api = app.bearer.clone();
        let body = json!({ "username": format!("nobody {number}"), "password": "wrong" });
        logins.spawn(async move { api.post("/login", &body).await });
        number += 1;
        assert!(number < 1000, "an engine without limits");
        // Refusals come at once, and so before anything else.
        let brief = Duration::from_millis(200);
        if let Ok(Some(response)) = tokio::time::timeout(brief, logins.join_next()).await {
            expect_busy(&response.expect("it was answered"));
            return logins;
        }
    }
}

#[track_caller]
fn expect_busy(response: &TestResponse) {
    response.expect_detail(503, "Service is busy, try again.");
    response.expect_header("www-authenticate", None);
    let again = response.header("retry-after").and_then(|text| text.parse::<u32>().ok());
    assert!(again.is_some_and(|seconds| (1..=60).contains(&seconds)), "{response}");
}

async fn overload_is_503_and_does_not_count_as_an_attempt(setup: TestSetup) {
    let app = slow(setup).start().await;
    let waiting = fill(&app).await;
    for _ in 0..5 {
        expect_busy(&app.try_log_in("admin", ADMIN_PASSWORD).await);
        expect_busy(&app.try_log_in("admin", "wrong").await);
        expect_busy(&app.try_log_in("nobody", "wrong").await);
        expect_busy(&app.basic.with_basic("admin", ADMIN_PASSWORD).get("/protected").await);
        expect_busy(&app.try_register("ann", "sesame").await);
    }
    // Those who go give their places back at once.
    drop(waiting);
    let admin = e2e::eventually("room again", async || {
        let response = app.try_log_in("admin", ADMIN_PASSWORD).await;
        (response.status != 503).then_some(response)
    });
    admin.await.expect(200);
    let ann = e2e::eventually("room again", async || {
        let response = app.try_register("ann", "sesame").await;
        (response.status != 503).then_some(response)
    });
    ann.await.expect(200);
}

async fn request_rejected_for_overload_costs_no_query(setup: TestSetup) {
    let mut app = slow(setup).with_database_proxy().start().await;
    let _waiting = fill(&app).await;
    app.database_proxy().cut();
    expect_busy(&app.try_log_in("admin", ADMIN_PASSWORD).await);
    expect_busy(&app.try_log_in("nobody", "wrong").await);
    expect_busy(&app.try_register("ann", "sesame").await);
}
