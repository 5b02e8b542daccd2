//! PostgreSQL is gone while the service runs.

use e2e::{Api, TestApp, TestSetup, eventually, on_postgres};
use serde_json::json;
use tokio::task::JoinSet;

on_postgres!(
    without_the_database_everything_is_503_and_works_again_after,
    without_the_database_the_process_is_alive_and_not_ready,
    a_database_that_says_nothing_is_an_outage_within_seconds,
    connections_that_died_without_a_word_do_not_keep_new_ones_out,
);

/// The statuses of everything that needs the database, asked with good and with bad credentials.
async fn statuses(world: &TestApp, token: &str) -> Vec<u16> {
    let bearer = world.bearer.with_token(token);
    let basic = world.basic.with_basic("admin", e2e::ADMIN_PASSWORD);
    let new = json!({ "username": "new", "password": "pw" });
    let answers = [
        bearer.get("/profile").await,
        bearer.get("/admin").await,
        bearer.get("/users").await,
        bearer.put("/users/1/role", &json!({ "role": "admin" })).await,
        world.try_log_in("admin", e2e::ADMIN_PASSWORD).await,
        world.try_log_in("admin", "wrong").await,
        world.bearer.post("/register", &new).await,
        basic.get("/protected").await,
    ];
    for answer in &answers {
        if answer.status == 503 {
            answer.expect_detail(503, "Service temporarily unavailable.");
            assert!(answer.header("retry-after").is_some(), "{answer}");
        }
    }
    answers.iter().map(|answer| answer.status).collect()
}

async fn without_the_database_everything_is_503_and_works_again_after(plan: TestSetup) {
    let mut world = plan.with_database_proxy().start().await;
    let admin = world.admin().await;
    world.database_proxy().cut();
    assert_eq!(statuses(&world, &admin.token).await, [503; 8]);
    world.bearer.get("/public").await.expect(200);
    // A bad token needs no database to be refused.
    let forged = world.bearer.with_token("nonsense").get("/profile").await;
    forged.expect_detail(401, "Invalid or expired token.");
    world.database_proxy().open();
    eventually("the database to be found again", async || {
        let answer = world.bearer.with_token(&admin.token).get("/admin").await;
        assert!([200, 503].contains(&answer.status), "{answer}");
        (answer.status == 200).then_some(())
    })
    .await;
    let wanted = [200, 200, 200, 200, 200, 401, 200, 200];
    assert_eq!(statuses(&world, &admin.token).await, wanted);
}

async fn without_the_database_the_process_is_alive_and_not_ready(plan: TestSetup) {
    let mut world = plan.with_database_proxy().start().await;
    let ops = Api::at(&world.auth().address("ops"));
    let readiness = async |wanted: u16| {
        eventually("readiness to change", async || {
            (ops.get("/readyz").await.status == wanted).then_some(())
        })
        .await;
    };
    readiness(200).await;
    world.database_proxy().cut();
    readiness(503).await;
    ops.get("/livez").await.expect(200);
    world.database_proxy().open();
    readiness(200).await;
    world.admin().await;
}

async fn a_database_that_says_nothing_is_an_outage_within_seconds(plan: TestSetup) {
    let mut world = plan.with_database_proxy().start().await;
    let admin = world.admin().await;
    world.database_proxy().silence();
    let asked = std::time::Instant::now();
    let answer = world.bearer.with_token(&admin.token).get("/admin").await;
    assert!([503, 504].contains(&answer.status), "{answer}");
    assert!(asked.elapsed().as_secs() < 15, "{:?}", asked.elapsed());
    let ops = Api::at(&world.auth().address("ops"));
    ops.get("/livez").await.expect(200);
    eventually("not ready", async || (ops.get("/readyz").await.status == 503).then_some(())).await;
    world.database_proxy().open();
    eventually("the database to be found again", async || {
        let answer = world.bearer.with_token(&admin.token).get("/admin").await;
        assert!([200, 503, 504].contains(&answer.status), "{answer}");
        (answer.status == 200).then_some(())
    })
    .await;
}

async fn connections_that_died_without_a_word_do_not_keep_new_ones_out(plan: TestSetup) {
    let mut world = plan.with_database_proxy().start().await;
    let admin = world.admin().await;
    let bearer = world.bearer.with_token(&admin.token);
    // Listings share no statement: together they take every connection that there may be.
    let everywhere = async || {
        let mut listings = JoinSet::new();
        for _ in 0..30 {
            let bearer = bearer.clone();
            listings.spawn(async move { bearer.get("/users").await });
        }
        listings.join_all().await
    };
    for answer in everywhere().await {
        answer.expect(200);
    }
    world.database_proxy().lose_connections();
    for answer in everywhere().await {
        assert!([200, 503].contains(&answer.status), "{answer}");
    }
    let asked = std::time::Instant::now();
    for answer in everywhere().await {
        answer.expect(200);
    }
    bearer.get("/admin").await.expect(200);
    assert!(asked.elapsed().as_secs() < 3, "{:?}", asked.elapsed());
}
