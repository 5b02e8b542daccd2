//! auth-service is gone: the gateway says so, never "no" and never "yes".

use e2e::{Answer, Api, TestApp, TestSetup, TestUser, eventually, split};
use serde_json::json;

split!(
    without_auth_service_everything_protected_is_503,
    the_gateway_works_again_when_auth_service_is_back,
    a_gateway_without_auth_service_is_alive_and_ready,
    an_auth_service_that_says_nothing_is_504_within_seconds,
);

async fn ask_everything(world: &TestApp, admin: &TestUser) -> Vec<Answer> {
    let bearer = world.bearer.with_token(&admin.token);
    let new = json!({ "username": "new", "password": "pw" });
    let basic = world.basic.with_basic("admin", &admin.password);
    vec![
        world.try_log_in("admin", &admin.password).await,
        world.try_log_in("admin", "wrong").await,
        world.bearer.post("/register", &new).await,
        world.basic.post("/register", &new).await,
        bearer.get("/profile").await,
        bearer.get("/author").await,
        bearer.get("/admin").await,
        bearer.get("/users").await,
        bearer.put("/users/1/role", &json!({ "role": "user" })).await,
        world.bearer.with_token("nonsense").get("/profile").await,
        basic.get("/protected").await,
        world.basic.with_basic("admin", "wrong").get("/protected").await,
    ]
}

async fn expect_outage(world: &TestApp, admin: &TestUser) {
    for answer in ask_everything(world, admin).await {
        answer.expect_detail(503, "Service temporarily unavailable.");
        answer.expect_header("www-authenticate", None);
        let again = answer.header("retry-after").and_then(|text| text.parse::<u32>().ok());
        assert!(again.is_some_and(|seconds| (1..=60).contains(&seconds)), "{answer}");
    }
    world.bearer.get("/").await.expect(200);
    world.basic.get("/public").await.expect(200);
    // Whoever presents nothing needs no decision.
    world.bearer.get("/profile").await.expect_detail(401, "Not authenticated.");
}

async fn without_auth_service_everything_protected_is_503(plan: TestSetup) {
    let mut world = plan.start().await;
    let admin = world.admin().await;
    world.kill_auth().await;
    expect_outage(&world, &admin).await;
}

async fn the_gateway_works_again_when_auth_service_is_back(plan: TestSetup) {
    let mut world = plan.start().await;
    let admin = world.admin().await;
    for _ in 0..2 {
        world.kill_auth().await;
        expect_outage(&world, &admin).await;
        world.start_auth_again(None).await;
        eventually("the gateway to find auth-service", async || {
            let answer = world.bearer.with_token(&admin.token).get("/admin").await;
            assert!([200, 503].contains(&answer.status), "{answer}");
            (answer.status == 200).then_some(())
        })
        .await;
        world.admin().await;
    }
}

async fn a_gateway_without_auth_service_is_alive_and_ready(plan: TestSetup) {
    let mut world = plan.start().await;
    let admin = world.admin().await;
    world.kill_auth().await;
    expect_outage(&world, &admin).await;
    let ops = Api::at(&world.front().address("ops"));
    ops.get("/livez").await.expect(200);
    ops.get("/readyz").await.expect(200);
}

async fn an_auth_service_that_says_nothing_is_504_within_seconds(plan: TestSetup) {
    let mut world = plan.start().await;
    let admin = world.admin().await;
    world.auth_proxy().silence();
    let asked = std::time::Instant::now();
    let answer = world.bearer.with_token(&admin.token).get("/admin").await;
    answer.expect_detail(504, "Upstream timed out.");
    assert!(asked.elapsed().as_secs() < 15, "{:?}", asked.elapsed());
    world.auth_proxy().open();
    eventually("the gateway to find auth-service", async || {
        let answer = world.bearer.with_token(&admin.token).get("/admin").await;
        assert!([200, 503, 504].contains(&answer.status), "{answer}");
        (answer.status == 200).then_some(())
    })
    .await;
}
