//! Tests connections that lead to a standby, which must not be read because it lags.

mod moving_proxy;

use e2e::{
    Process, Store, TestApp, TestResponse, TestSetup, TestUser, eventually,
    for_postgres_deployments, postgres::OwnCluster,
};
use futures_util::future::join_all;
use moving_proxy::MovingProxy;
use serde_json::json;

for_postgres_deployments!(connection_to_a_standby_answers_no_request);

/// A primary and its standby, whose replay a test can pause.
struct Servers {
    primary: OwnCluster,
    standby: OwnCluster,
}

impl Servers {
    fn start() -> Self {
        let primary = OwnCluster::start(None);
        let standby = primary.start_standby();
        Self { primary, standby }
    }

    /// Waits until the standby has the user, and then pauses its replay, so that it does not get the user's next role.
    async fn pause_replay_after(&self, app: &TestApp, user: &TestUser) {
        let url = app.database.url_through(self.standby.address());
        eventually("the standby to have the user", async || {
            e2e::postgres::role_of(&url, &user.username).await.map(drop)
        })
        .await;
        self.standby
            .execute("postgres", "SELECT pg_wal_replay_pause()")
            .await;
    }
}

/// Makes concurrent requests, each of which reads the stored user.
async fn read_role(app: &TestApp, user: &TestUser, session: &str) -> Vec<TestResponse> {
    let (bearer, basic) = (
        app.bearer.with_token(&user.token),
        app.basic.with_basic(&user.username, &user.password),
    );
    let mut responses = join_all((0..20).map(|_| bearer.get("/profile"))).await;
    let by_session = app.bearer.with_token(session);
    responses.extend(join_all((0..20).map(|_| by_session.get("/profile"))).await);
    responses.push(bearer.get("/author").await);
    responses.push(basic.get("/protected").await);
    responses.push(app.try_log_in(&user.username, &user.password).await);
    responses
}

fn expect_outage(responses: &[TestResponse]) {
    for response in responses {
        response.expect_detail(503, "Service temporarily unavailable.");
        response.expect_retry_after();
    }
}

async fn connection_to_a_standby_answers_no_request(setup: TestSetup) {
    let servers = Servers::start();
    let mut app = setup
        .on_server(servers.primary.url())
        .with_database_proxy()
        .start()
        .await;
    let user = app.user("reader").await;
    let session = user.session(&app.bearer).await.token;
    servers.pause_replay_after(&app, &user).await;
    app.database.set_role("reader", "author").await;
    app.database_proxy().cut();
    app.bearer
        .with_token(&user.token)
        .get("/profile")
        .await
        .expect(503);
    app.database_proxy().retarget(servers.standby.address());
    app.database_proxy().open();
    expect_outage(&read_role(&app, &user, &session).await);
    app.auth().wait_for_readiness(503).await;
    app.posts().wait_for_readiness(503).await;
    let new = json!({ "username": "new", "password": "pw" });
    app.bearer.post("/register", &new).await.expect(503);
    // The address now leads to the primary, as when an address follows a promotion.
    app.database_proxy().retarget(servers.primary.address());
    eventually("decisions by the primary", async || {
        let response = app.bearer.with_token(&user.token).get("/author").await;
        assert!([200, 503].contains(&response.status), "{response}");
        (response.status == 200).then_some(())
    })
    .await;
    app.auth().wait_for_readiness(200).await;
}

#[tokio::test]
async fn session_that_a_pooler_continues_on_a_standby_answers_no_request() {
    let servers = Servers::start();
    let setup = TestSetup::split(Store::Postgres).on_server(servers.primary.url());
    let app = setup.clone().start().await;
    let user = app.user("reader").await;
    let proxy = MovingProxy::start(servers.primary.address(), servers.standby.address()).await;
    // This auth-service reaches PostgreSQL through the proxy, which can move its sessions.
    let url = format!(
        "{}?sslmode=disable",
        app.database.url_through(proxy.address())
    );
    let folder = std::env::temp_dir();
    let auth = Process::start(setup.auth_program(), &setup.auth_settings(&url), &folder);
    let auth = auth.ready().await;
    let settings = setup.gateway_settings(auth.socket_address("grpc"), None);
    let gateway = Process::start(e2e::Program::Gateway, &settings, &folder)
        .ready()
        .await;
    let api = e2e::Api::at(&gateway.address("bearer")).with_token(&user.token);
    eventually("the first decision", async || {
        (api.get("/profile").await.status == 200).then_some(())
    })
    .await;
    servers.pause_replay_after(&app, &user).await;
    app.database.set_role("reader", "author").await;
    let before = api.get("/profile").await;
    assert_eq!(before.json()["role"], "author", "{before}");

    proxy.move_sessions().await;
    let after = join_all((0..20).map(|_| api.get("/profile"))).await;
    // The first statement on the standby fails, and later connections lead to the primary.
    assert!(
        after.iter().any(|response| response.status == 503),
        "{after:?}"
    );
    for response in &after {
        let is_fresh = response.status == 200 && response.json()["role"] == "author";
        assert!(is_fresh || response.status == 503, "{response}");
    }
    eventually("decisions by the primary", async || {
        let response = api.get("/author").await;
        (response.status == 200).then_some(())
    })
    .await;
}
