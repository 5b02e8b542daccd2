//! More passwords come than can be hashed in time.

use e2e::{ADMIN_PASSWORD, Answer, TestApp, TestSetup, on_postgres, split};
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

split!(what_cannot_be_done_in_time_is_refused_and_is_no_attempt);
on_postgres!(who_is_refused_costs_no_query);

/// An engine of one lane, with hashes of seconds each.
fn slow(plan: TestSetup) -> TestSetup {
    let settings = [("BCRYPT_COST", "15"), ("BCRYPT_THREADS", "1"), ("BCRYPT_LANES", "1")];
    let plan = settings.iter().fold(plan, |plan, (name, value)| plan.with(name, value));
    plan.with_real_hashes().with("LOGIN_FAILURE_LIMIT", "3").with("REGISTRATION_LIMIT", "1")
}

/// Logins of one name after the other until one is refused; then the engine is full, for as long as
/// this set is kept.
async fn fill(world: &TestApp) -> JoinSet<Answer> {
    let mut logins = JoinSet::new();
    let mut number = 0;
    loop {
        let api = world.bearer.clone();
        let body = json!({ "username": format!("nobody {number}"), "password": "wrong" });
        logins.spawn(async move { api.post("/login", &body).await });
        number += 1;
        assert!(number < 1000, "an engine without limits");
        // Refusals come at once, and so before anything else.
        let brief = Duration::from_millis(200);
        if let Ok(Some(answer)) = tokio::time::timeout(brief, logins.join_next()).await {
            expect_busy(&answer.expect("it was answered"));
            return logins;
        }
    }
}

#[track_caller]
fn expect_busy(answer: &Answer) {
    answer.expect_detail(503, "Service is busy, try again.");
    answer.expect_header("www-authenticate", None);
    let again = answer.header("retry-after").and_then(|text| text.parse::<u32>().ok());
    assert!(again.is_some_and(|seconds| (1..=60).contains(&seconds)), "{answer}");
}

async fn what_cannot_be_done_in_time_is_refused_and_is_no_attempt(plan: TestSetup) {
    let world = slow(plan).start().await;
    let waiting = fill(&world).await;
    for _ in 0..5 {
        expect_busy(&world.try_log_in("admin", ADMIN_PASSWORD).await);
        expect_busy(&world.try_log_in("admin", "wrong").await);
        expect_busy(&world.try_log_in("nobody", "wrong").await);
        expect_busy(&world.basic.with_basic("admin", ADMIN_PASSWORD).get("/protected").await);
        expect_busy(&world.try_register("ann", "sesame").await);
    }
    // Those who go give their places back at once.
    drop(waiting);
    let admin = e2e::eventually("room again", async || {
        let answer = world.try_log_in("admin", ADMIN_PASSWORD).await;
        (answer.status != 503).then_some(answer)
    });
    admin.await.expect(200);
    let ann = e2e::eventually("room again", async || {
        let answer = world.try_register("ann", "sesame").await;
        (answer.status != 503).then_some(answer)
    });
    ann.await.expect(200);
}

async fn who_is_refused_costs_no_query(plan: TestSetup) {
    let mut world = slow(plan).with_database_proxy().start().await;
    let _waiting = fill(&world).await;
    world.database_proxy().cut();
    expect_busy(&world.try_log_in("admin", ADMIN_PASSWORD).await);
    expect_busy(&world.try_log_in("nobody", "wrong").await);
    expect_busy(&world.try_register("ann", "sesame").await);
}
