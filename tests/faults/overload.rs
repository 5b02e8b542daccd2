//! Tests an auth-service to which more passwords arrive than it can hash in time.

use e2e::{
    ADMIN_PASSWORD, TestApp, TestResponse, TestSetup, eventually, for_postgres_deployments,
    for_split_deployments, until_served,
};
use futures_util::future::join_all;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

for_split_deployments!(overload_is_503_and_does_not_count_as_an_attempt);
for_postgres_deployments!(request_rejected_for_overload_costs_no_query);

/// Lets the engine hash one password at a time, for one or two seconds each.
async fn with_slow_hashes(setup: TestSetup) -> TestSetup {
    let setup = setup.with("BCRYPT_THREADS", "1").with("BCRYPT_LANES", "1");
    let setup = setup
        .with("LOGIN_FAILURE_LIMIT", "3")
        .with("REGISTRATION_LIMIT", "1");
    setup.with_hash_time(Duration::from_secs(1)).await
}

/// Logins that wait in the password engine, until this is dropped.
struct FullEngine(JoinSet<TestResponse>);

impl FullEngine {
    /// Sends logins of different usernames until one is rejected.
    async fn fill(app: &TestApp) -> Self {
        let mut logins = JoinSet::new();
        for number in 0..1000 {
            let api = app.bearer.clone();
            let body = json!({ "username": format!("stranger {number}"), "password": "wrong" });
            logins.spawn(async move { api.post("/login", &body).await });
            // Refusals come at once, so a login that is not answered soon waits in the engine.
            let response = tokio::time::timeout(Duration::from_millis(50), logins.join_next());
            let response = response
                .await
                .ok()
                .flatten()
                .map(|login| login.expect("a response"));
            if let Some(response) = response.filter(|response| response.status == 503) {
                expect_busy(&response);
                return Self(logins);
            }
        }
        panic!("the engine has no limit");
    }

    /// Returns whether no hash has finished, because a finished hash makes room in the engine.
    fn is_still_full(&mut self) -> bool {
        std::iter::from_fn(|| self.0.try_join_next())
            .all(|login| login.expect("a response").status == 503)
    }
}

#[track_caller]
fn expect_busy(response: &TestResponse) {
    response.expect_detail(503, "Service is busy, try again.");
    response.expect_header("www-authenticate", None);
    response.expect_retry_after();
}

/// Makes each kind of request that hashes a password once.
async fn hash_passwords(app: &TestApp) -> [TestResponse; 5] {
    let basic = app.basic.with_basic("admin", ADMIN_PASSWORD);
    let responses = tokio::join!(
        app.try_log_in("admin", ADMIN_PASSWORD),
        app.try_log_in("admin", "wrong"),
        app.try_log_in("stranger", "wrong"),
        basic.get("/protected"),
        app.try_register("ann", "sesame"),
    );
    responses.into()
}

async fn overload_is_503_and_does_not_count_as_an_attempt(setup: TestSetup) {
    let setup = with_slow_hashes(setup).await;
    eventually("an engine that stays full", async || {
        let app = setup.clone().start().await;
        let mut engine = FullEngine::fill(&app).await;
        // This is more than the limits of failures and registrations allow, so refusals for overload must not count.
        let responses = join_all((0..5).map(|_| hash_passwords(&app)))
            .await
            .concat();
        if !engine.is_still_full() {
            return None;
        }
        responses.iter().for_each(expect_busy);
        // Cancelled logins leave the engine at once, so the next login is served.
        drop(engine);
        until_served(async || app.try_log_in("admin", ADMIN_PASSWORD).await)
            .await
            .expect(200);
        until_served(async || app.try_register("ann", "sesame").await)
            .await
            .expect(200);
        Some(())
    })
    .await;
}

async fn request_rejected_for_overload_costs_no_query(setup: TestSetup) {
    let setup = with_slow_hashes(setup).await.with_database_proxy();
    eventually("an engine that stays full", async || {
        let mut app = setup.clone().start().await;
        let mut engine = FullEngine::fill(&app).await;
        app.database_proxy().cut();
        // HTTP Basic reads the user first, for a look into its cache.
        let responses: [TestResponse; 3] = tokio::join!(
            app.try_log_in("admin", ADMIN_PASSWORD),
            app.try_log_in("stranger", "wrong"),
            app.try_register("ann", "sesame"),
        )
        .into();
        if !engine.is_still_full() {
            return None;
        }
        responses.iter().for_each(expect_busy);
        Some(())
    })
    .await;
}
