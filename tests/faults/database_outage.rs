//! Tests the services while PostgreSQL is unavailable, and after it has returned.

use e2e::{Api, TestApp, TestSetup, eventually, for_postgres_deployments};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

for_postgres_deployments!(
    database_outage_is_503_and_ends_with_the_outage,
    process_without_database_is_live_but_not_ready,
    unresponsive_database_is_an_outage_after_the_timeout,
    dead_connections_do_not_block_new_ones,
    locked_table_is_unready_when_requests_fail_and_not_before,
    outage_is_a_line_and_then_a_count_a_second,
);

/// Returns the statuses of requests that need the database, with valid and with invalid credentials.
async fn statuses(app: &TestApp, token: &str) -> Vec<u16> {
    let bearer = app.bearer.with_token(token);
    let basic = app.basic.with_basic("admin", e2e::ADMIN_PASSWORD);
    let new = json!({ "username": "new", "password": "pw" });
    let responses = [
        bearer.get("/profile").await,
        bearer.get("/admin").await,
        bearer.get("/users").await,
        bearer
            .put("/users/1/role", &json!({ "role": "admin" }))
            .await,
        app.try_log_in("admin", e2e::ADMIN_PASSWORD).await,
        app.try_log_in("admin", "wrong").await,
        app.bearer.post("/register", &new).await,
        basic.get("/protected").await,
    ];
    for response in &responses {
        if response.status == 503 {
            response.expect_detail(503, "Service temporarily unavailable.");
            response.expect_retry_after();
        }
    }
    responses.iter().map(|response| response.status).collect()
}

async fn database_outage_is_503_and_ends_with_the_outage(setup: TestSetup) {
    let mut app = setup.with_database_proxy().start().await;
    let admin = app.admin().await;
    app.database_proxy().cut();
    assert_eq!(statuses(&app, &admin.token).await, [503; 8]);
    app.bearer.get("/public").await.expect(200);
    // An invalid token is refused without a look into the database.
    let forged = app.bearer.with_token("nonsense").get("/profile").await;
    forged.expect_detail(401, "Invalid or expired token.");
    app.database_proxy().open();
    eventually("the service to recover", async || {
        let response = app.bearer.with_token(&admin.token).get("/admin").await;
        assert!([200, 503].contains(&response.status), "{response}");
        (response.status == 200).then_some(())
    })
    .await;
    let expected = [200, 200, 200, 200, 200, 401, 200, 200];
    assert_eq!(statuses(&app, &admin.token).await, expected);
}

async fn process_without_database_is_live_but_not_ready(setup: TestSetup) {
    let mut app = setup.with_database_proxy().start().await;
    let ops = Api::at(&app.auth().address("ops"));
    app.auth().wait_for_readiness(200).await;
    app.database_proxy().cut();
    app.auth().wait_for_readiness(503).await;
    ops.get("/livez").await.expect(200);
    app.database_proxy().open();
    app.auth().wait_for_readiness(200).await;
    app.admin().await;
}

async fn unresponsive_database_is_an_outage_after_the_timeout(setup: TestSetup) {
    let mut app = setup.with_database_proxy().start().await;
    let admin = app.admin().await;
    app.database_proxy().silence();
    let started = Instant::now();
    let response = app.bearer.with_token(&admin.token).get("/admin").await;
    assert!([503, 504].contains(&response.status), "{response}");
    assert!(
        started.elapsed() < Duration::from_mins(1),
        "{:?}",
        started.elapsed()
    );
    let ops = Api::at(&app.auth().address("ops"));
    ops.get("/livez").await.expect(200);
    app.auth().wait_for_readiness(503).await;
    app.database_proxy().open();
    eventually("the service to recover", async || {
        let response = app.bearer.with_token(&admin.token).get("/admin").await;
        assert!([200, 503, 504].contains(&response.status), "{response}");
        (response.status == 200).then_some(())
    })
    .await;
}

async fn locked_table_is_unready_when_requests_fail_and_not_before(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let bearer = app.bearer.with_token(&admin.token);
    app.auth().wait_for_readiness(200).await;
    let lock = app.database.lock_in(r#""user""#, "ACCESS EXCLUSIVE").await;
    let ops = Api::at(&app.auth().address("ops"));
    let (locked, asked) = (Instant::now(), bearer.get("/profile"));
    let unready = eventually("an unready service", async || {
        let is_unready = ops.get("/readyz").await.status == 503;
        is_unready.then(|| locked.elapsed())
    });
    let (unready, answer) = tokio::join!(unready, asked);
    assert!(
        unready >= Duration::from_secs(3),
        "a moment's lock makes no replica unready"
    );
    answer.expect_detail(503, "Service temporarily unavailable.");
    lock.unlock().await;
    app.auth().wait_for_readiness(200).await;
    bearer.get("/profile").await.expect(200);
}

async fn outage_is_a_line_and_then_a_count_a_second(setup: TestSetup) {
    let mut app = setup.with_database_proxy().start().await;
    let admin = app.admin().await;
    let bearer = app.bearer.with_token(&admin.token);
    app.database_proxy().cut();
    let (began, mut failed) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(3) {
        for response in [
            bearer.get("/profile").await,
            app.try_register("new", "open sesame").await,
        ] {
            failed += u32::from(response.status == 503);
        }
    }
    assert!(failed > 4, "{failed} requests failed");
    for process in [app.gateway(), app.auth()] {
        let log = eventually("a count", async || {
            let log = process.stderr();
            log.contains("failed in the last second").then_some(log)
        });
        let log = log.await;
        let lines = log.lines().filter(|line| line.contains(" failed")).count();
        // Two routes have a series of errors each, with up to three causes. `rolegate` logs those of both services.
        let seconds = began.elapsed().as_secs();
        assert!(
            lines as u64 <= 10 + 2 * seconds,
            "{lines} lines of {failed} requests:\n{log}"
        );
    }
}

async fn dead_connections_do_not_block_new_ones(setup: TestSetup) {
    let mut app = setup.with_database_proxy().start().await;
    let admin = app.admin().await;
    let bearer = app.bearer.with_token(&admin.token);
    // Listings are not batched, so together they use every connection of the pool.
    let list_concurrently = async || {
        let mut listings = JoinSet::new();
        for _ in 0..30 {
            let bearer = bearer.clone();
            listings.spawn(async move { bearer.get("/users").await });
        }
        listings.join_all().await
    };
    let started = Instant::now();
    for response in list_concurrently().await {
        response.expect(200);
    }
    let healthy = started.elapsed();
    app.database_proxy().freeze_connections();
    for response in list_concurrently().await {
        assert!([200, 503].contains(&response.status), "{response}");
    }
    let started = Instant::now();
    for response in list_concurrently().await {
        response.expect(200);
    }
    bearer.get("/admin").await.expect(200);
    // This must be about as fast as before the outage. Waiting for dead connections would take seconds.
    let recovered = started.elapsed();
    assert!(
        recovered < healthy * 10 + Duration::from_secs(2),
        "{recovered:?}, before {healthy:?}"
    );
}
