//! SIGTERM: nothing that was accepted is lost.

use e2e::{
    ADMIN_PASSWORD, Api, TestApp, TestResponse, TestSetup, eventually, for_all_deployments,
    for_split_deployments,
};
use serde_json::json;
use tokio::task::JoinHandle;

for_all_deployments!(
    lame_duck_is_not_ready_but_serves_and_closes_connections,
    logins_in_flight_finish,
    idle_process_exits_with_0,
);
for_split_deployments!(stopping_auth_service_finishes_the_calls_of_the_gateway);

async fn lame_duck_is_not_ready_but_serves_and_closes_connections(setup: TestSetup) {
    let app = setup.with("LAME_DUCK_SECONDS", "3").start().await;
    let ann = app.user("ann").await;
    let ops = Api::at(&app.gateway().address("ops"));
    eventually("readiness", async || (ops.get("/readyz").await.status == 200).then_some(())).await;
    app.bearer.get("/public").await.expect(200).expect_header("connection", None);
    app.gateway().terminate();
    eventually("not ready", async || (ops.get("/readyz").await.status == 503).then_some(())).await;
    ops.get("/livez").await.expect(200);
    let response = app.bearer.get("/public").await;
    response.expect(200).expect_header("connection", Some("close"));
    let response = app.bearer.with_token(&ann.token).get("/profile").await;
    response.expect(200).expect_header("connection", Some("close"));
    let response = app.basic.with_basic("ann", &ann.password).get("/protected").await;
    response.expect(200).expect_header("connection", Some("close"));
}

/// Four logins take longer than the lame-duck time.
fn slow_logins(setup: TestSetup) -> TestSetup {
    setup.with_real_hashes().with("BCRYPT_COST", "14").with("LAME_DUCK_SECONDS", "1")
}

/// Logins on their way: they arrive within the lame-duck time at the latest.
fn logins(app: &TestApp) -> Vec<JoinHandle<TestResponse>> {
    let log_in = |_| {
        let api = app.bearer.clone();
        let body = json!({ "username": "admin", "password": ADMIN_PASSWORD });
        tokio::spawn(async move { api.post("/login", &body).await })
    };
    (0..4).map(log_in).collect()
}

async fn logins_in_flight_finish(setup: TestSetup) {
    let app = slow_logins(setup).start().await;
    let logins = logins(&app);
    app.gateway().terminate();
    for login in logins {
        login.await.expect("it was answered").expect(200);
    }
    let (mut processes, _database) = app.into_processes();
    let exit = processes.pop().expect("the front").exit().await;
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

async fn stopping_auth_service_finishes_the_calls_of_the_gateway(setup: TestSetup) {
    let app = slow_logins(setup).start().await;
    let logins = logins(&app);
    app.auth().terminate();
    for login in logins {
        login.await.expect("it was answered").expect(200);
    }
    let (processes, _database) = app.into_processes();
    let auth = processes.into_iter().next().expect("auth-service");
    let exit = auth.exit().await;
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

async fn idle_process_exits_with_0(setup: TestSetup) {
    let app = setup.start().await;
    // Idle connections must not hold the end up.
    app.bearer.get("/public").await.expect(200);
    app.admin().await;
    let started = std::time::Instant::now();
    let (processes, _database) = app.into_processes();
    for process in processes.into_iter().rev() {
        process.terminate();
        let exit = process.exit().await;
        assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    }
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}
