//! SIGTERM: nothing that was accepted is lost.

use e2e::{
    ADMIN_PASSWORD, Answer, Api, TestApp, TestSetup, eventually, for_all_deployments, split,
};
use serde_json::json;
use tokio::task::JoinHandle;

for_all_deployments!(
    a_lame_duck_is_not_ready_still_answers_and_asks_to_leave,
    logins_in_flight_are_finished,
    an_idle_program_ends_at_once_with_0,
);
split!(an_auth_service_that_stops_finishes_what_the_gateway_asked);

async fn a_lame_duck_is_not_ready_still_answers_and_asks_to_leave(plan: TestSetup) {
    let world = plan.with("LAME_DUCK_SECONDS", "3").start().await;
    let ann = world.user("ann").await;
    let ops = Api::at(&world.front().address("ops"));
    eventually("readiness", async || (ops.get("/readyz").await.status == 200).then_some(())).await;
    world.bearer.get("/public").await.expect(200).expect_header("connection", None);
    world.front().terminate();
    eventually("not ready", async || (ops.get("/readyz").await.status == 503).then_some(())).await;
    ops.get("/livez").await.expect(200);
    let answer = world.bearer.get("/public").await;
    answer.expect(200).expect_header("connection", Some("close"));
    let answer = world.bearer.with_token(&ann.token).get("/profile").await;
    answer.expect(200).expect_header("connection", Some("close"));
    let answer = world.basic.with_basic("ann", &ann.password).get("/protected").await;
    answer.expect(200).expect_header("connection", Some("close"));
}

/// Four logins take longer than the lame-duck time.
fn slow_logins(plan: TestSetup) -> TestSetup {
    plan.with_real_hashes().with("BCRYPT_COST", "14").with("LAME_DUCK_SECONDS", "1")
}

/// Logins on their way: they arrive within the lame-duck time at the latest.
fn logins(world: &TestApp) -> Vec<JoinHandle<Answer>> {
    let log_in = |_| {
        let api = world.bearer.clone();
        let body = json!({ "username": "admin", "password": ADMIN_PASSWORD });
        tokio::spawn(async move { api.post("/login", &body).await })
    };
    (0..4).map(log_in).collect()
}

async fn logins_in_flight_are_finished(plan: TestSetup) {
    let world = slow_logins(plan).start().await;
    let logins = logins(&world);
    world.front().terminate();
    for login in logins {
        login.await.expect("it was answered").expect(200);
    }
    let (mut processes, _database) = world.into_processes();
    let exit = processes.pop().expect("the front").exit().await;
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

async fn an_auth_service_that_stops_finishes_what_the_gateway_asked(plan: TestSetup) {
    let world = slow_logins(plan).start().await;
    let logins = logins(&world);
    world.auth().terminate();
    for login in logins {
        login.await.expect("it was answered").expect(200);
    }
    let (processes, _database) = world.into_processes();
    let auth = processes.into_iter().next().expect("auth-service");
    let exit = auth.exit().await;
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

async fn an_idle_program_ends_at_once_with_0(plan: TestSetup) {
    let world = plan.start().await;
    // Idle connections must not hold the end up.
    world.bearer.get("/public").await.expect(200);
    world.admin().await;
    let asked = std::time::Instant::now();
    let (processes, _database) = world.into_processes();
    for process in processes.into_iter().rev() {
        process.terminate();
        let exit = process.exit().await;
        assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    }
    assert!(asked.elapsed().as_secs() < 10, "{:?}", asked.elapsed());
}
