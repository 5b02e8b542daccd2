//! Checks that SIGTERM loses no accepted request.

use e2e::{
    ADMIN_PASSWORD, Api, Process, TestApp, TestResponse, TestSetup, eventually,
    for_all_deployments, for_split_deployments, for_two_deployments,
};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

for_all_deployments!(
    lame_duck_is_not_ready_but_serves_and_closes_connections,
    logins_in_flight_finish,
);
for_two_deployments!(
    idle_process_exits_with_0,
    second_signal_ends_the_lame_duck_time
);
for_split_deployments!(stopping_auth_service_finishes_the_calls_of_the_gateway);

async fn lame_duck_is_not_ready_but_serves_and_closes_connections(setup: TestSetup) {
    // The lame-duck time is longer than the test, which kills the processes at its end.
    let app = setup.with("LAME_DUCK_SECONDS", "300").start().await;
    let ann = app.user("ann").await;
    let ops = Api::at(&app.gateway().address("ops"));
    app.gateway().wait_for_readiness(200).await;
    app.bearer
        .get("/public")
        .await
        .expect(200)
        .expect_header("connection", None);
    app.gateway().terminate();
    app.gateway().wait_for_readiness(503).await;
    ops.get("/livez").await.expect(200);
    let response = app.bearer.get("/public").await;
    response
        .expect(200)
        .expect_header("connection", Some("close"));
    let response = app.bearer.with_token(&ann.token).get("/profile").await;
    response
        .expect(200)
        .expect_header("connection", Some("close"));
    let response = app
        .basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await;
    response
        .expect(200)
        .expect_header("connection", Some("close"));
}

async fn second_signal_ends_the_lame_duck_time(setup: TestSetup) {
    // The lame-duck time is longer than a test waits, so only the second signal can end the programs in time.
    let app = setup.with("LAME_DUCK_SECONDS", "300").start().await;
    let (processes, _database) = app.into_processes();
    for process in processes.into_iter().rev() {
        process.terminate();
        process
            .logs("the first signal", |line| line.contains("stopping"))
            .await;
        process.wait_for_readiness(503).await;
        process.interrupt();
        assert_eq!(process.exit().await.code, Some(130));
    }
}

const LOGINS: u8 = 4;

/// Starts logins, and returns when auth-service has queued all of them or is hashing them.
async fn logins_in_flight(setup: TestSetup) -> (TestApp, Vec<JoinHandle<TestResponse>>) {
    let app = setup
        .with_hash_time(Duration::from_secs(1))
        .await
        .start()
        .await;
    let log_in = |_| {
        let api = app.bearer.clone();
        let body = json!({ "username": "admin", "password": ADMIN_PASSWORD });
        tokio::spawn(async move { api.post("/login", &body).await })
    };
    let logins: Vec<_> = (0..LOGINS).map(log_in).collect();
    let ops = Api::at(&app.auth().address("ops"));
    eventually("logins in flight", async || {
        assert!(
            !logins.iter().any(JoinHandle::is_finished),
            "a login was faster than /metrics"
        );
        let metrics = ops.get("/metrics").await.expect(200).body.clone();
        let gauge = |name: &str| {
            metrics
                .lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
        };
        let waiting = gauge("rolegate_hashing_queued_jobs ").expect("a gauge");
        let hashing = gauge("rolegate_hashing_busy_lanes ").expect("a gauge");
        (waiting + hashing >= f64::from(LOGINS)).then_some(())
    })
    .await;
    (app, logins)
}

/// Sends SIGTERM to a process while `logins` are in flight, and checks that each of them is answered.
async fn terminate(process: &Process, logins: Vec<JoinHandle<TestResponse>>) {
    process.terminate();
    for login in logins {
        login.await.expect("it was answered").expect(200);
    }
}

async fn logins_in_flight_finish(setup: TestSetup) {
    let (app, logins) = logins_in_flight(setup).await;
    terminate(app.gateway(), logins).await;
    let (mut processes, _database) = app.into_processes();
    let exit = processes.pop().expect("the gateway").exit().await;
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

async fn stopping_auth_service_finishes_the_calls_of_the_gateway(setup: TestSetup) {
    let (app, logins) = logins_in_flight(setup).await;
    terminate(app.auth(), logins).await;
    let (processes, _database) = app.into_processes();
    let auth = processes.into_iter().next().expect("auth-service");
    let exit = auth.exit().await;
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

async fn idle_process_exits_with_0(setup: TestSetup) {
    // A drain that waited for idle connections would take as long as this.
    const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
    let app = setup.start().await;
    // The connections of these requests stay open and idle.
    app.bearer.get("/public").await.expect(200);
    app.admin().await;
    let _clients = (app.bearer.clone(), app.basic.clone());
    let (processes, _database) = app.into_processes();
    for process in processes.into_iter().rev() {
        let started = Instant::now();
        process.terminate();
        let exit = process.exit().await;
        assert_eq!(exit.code, Some(0), "{}", exit.stderr);
        assert!(started.elapsed() < DRAIN_TIMEOUT, "{:?}", started.elapsed());
    }
}
