//! Tests the gateway while auth-service is unavailable: it answers 503 or 504, never 401 and never with success.

use e2e::{Api, TestApp, TestResponse, TestSetup, TestUser, eventually, for_split_deployments};
use serde_json::json;
use std::time::{Duration, Instant};

for_split_deployments!(
    protected_routes_return_503_without_auth_service,
    gateway_recovers_when_auth_service_returns,
    gateway_without_auth_service_is_live_and_ready,
    unresponsive_auth_service_is_504_after_the_timeout,
);

async fn ask_everything(app: &TestApp, admin: &TestUser) -> Vec<TestResponse> {
    let bearer = app.bearer.with_token(&admin.token);
    let new = json!({ "username": "new", "password": "pw" });
    let basic = app.basic.with_basic("admin", &admin.password);
    vec![
        app.try_log_in("admin", &admin.password).await,
        app.try_log_in("admin", "wrong").await,
        app.bearer.post("/register", &new).await,
        app.basic.post("/register", &new).await,
        bearer.get("/profile").await,
        bearer.get("/author").await,
        bearer.get("/admin").await,
        bearer.get("/users").await,
        bearer
            .put("/users/1/role", &json!({ "role": "user" }))
            .await,
        app.bearer.with_token("nonsense").get("/profile").await,
        basic.get("/protected").await,
        app.basic
            .with_basic("admin", "wrong")
            .get("/protected")
            .await,
    ]
}

async fn expect_outage(app: &TestApp, admin: &TestUser) {
    for response in ask_everything(app, admin).await {
        response.expect_detail(503, "Service temporarily unavailable.");
        response.expect_header("www-authenticate", None);
        response.expect_retry_after();
    }
    app.bearer.get("/").await.expect(200);
    app.basic.get("/public").await.expect(200);
    // A request without credentials needs no decision, so it is refused as usual.
    app.bearer
        .get("/profile")
        .await
        .expect_detail(401, "Not authenticated.");
}

async fn protected_routes_return_503_without_auth_service(setup: TestSetup) {
    let mut app = setup.start().await;
    let admin = app.admin().await;
    app.kill_auth().await;
    expect_outage(&app, &admin).await;
}

async fn gateway_recovers_when_auth_service_returns(setup: TestSetup) {
    let mut app = setup.start().await;
    let admin = app.admin().await;
    for _ in 0..2 {
        app.kill_auth().await;
        expect_outage(&app, &admin).await;
        app.start_auth(None).await;
        eventually("the gateway to find auth-service", async || {
            let response = app.bearer.with_token(&admin.token).get("/admin").await;
            assert!([200, 503].contains(&response.status), "{response}");
            (response.status == 200).then_some(())
        })
        .await;
        app.admin().await;
    }
}

async fn gateway_without_auth_service_is_live_and_ready(setup: TestSetup) {
    let mut app = setup.start().await;
    let admin = app.admin().await;
    app.kill_auth().await;
    expect_outage(&app, &admin).await;
    let ops = Api::at(&app.gateway().address("ops"));
    ops.get("/livez").await.expect(200);
    ops.get("/readyz").await.expect(200);
}

async fn unresponsive_auth_service_is_504_after_the_timeout(setup: TestSetup) {
    let mut app = setup.start().await;
    let admin = app.admin().await;
    app.auth_proxy().silence();
    let started = Instant::now();
    let response = app.bearer.with_token(&admin.token).get("/admin").await;
    response.expect_detail(504, "Upstream timed out.");
    assert!(
        started.elapsed() < Duration::from_mins(1),
        "{:?}",
        started.elapsed()
    );
    app.auth_proxy().open();
    eventually("the gateway to find auth-service", async || {
        let response = app.bearer.with_token(&admin.token).get("/admin").await;
        assert!([200, 503, 504].contains(&response.status), "{response}");
        (response.status == 200).then_some(())
    })
    .await;
}
