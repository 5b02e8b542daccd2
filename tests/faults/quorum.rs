//! `DATABASE_READS=quorum`: an answer counts only when a synchronous standby has acknowledged it.

use e2e::{
    Exit, Process, Program, Store, TestApp, TestSetup, TestUser, eventually,
    for_postgres_deployments, postgres::OwnCluster,
};
use futures_util::future::join_all;

for_postgres_deployments!(
    superseded_primary_answers_no_request,
    decisions_stop_without_the_standby_and_resume_with_it,
    decisions_stop_when_the_server_no_longer_waits_for_a_standby,
);

async fn start(setup: TestSetup, reads: &str) -> (OwnCluster, OwnCluster, TestApp) {
    let primary = OwnCluster::start_synchronous().await;
    let standby = primary.start_standby();
    let app = setup.on_server(primary.url()).with("DATABASE_READS", reads).start().await;
    (primary, standby, app)
}

/// The standby takes over, as where the old primary is cut off from everybody but its clients.
async fn supersede(setup: TestSetup, reads: &str) -> (OwnCluster, OwnCluster, TestApp, TestUser) {
    let (primary, standby, app) = start(setup, reads).await;
    let user = app.user("reader").await;
    app.bearer.with_token(&user.token).get("/author").await.expect(403);
    standby.execute("postgres", "SELECT pg_promote()").await;
    (primary, standby, app, user)
}

async fn superseded_primary_answers_no_request(setup: TestSetup) {
    let (_primary, _standby, app, user) = supersede(setup.clone(), "quorum").await;
    let api = app.bearer.with_token(&user.token);
    let basic = app.basic.with_basic(&user.username, &user.password);
    let mut responses = join_all((0..20).map(|_| api.get("/author"))).await;
    responses.push(basic.get("/protected").await);
    responses.push(app.try_log_in(&user.username, &user.password).await);
    // Whether a name is taken is read too.
    responses.push(app.try_register(&user.username, "password").await);
    for response in responses {
        assert!([503, 504].contains(&response.status), "{response}");
    }
    app.auth().wait_for_readiness(503).await;

    // The primary's own word is not enough: this answers from what may be outdated.
    let (_primary, _standby, app, user) = supersede(setup, "primary").await;
    app.bearer.with_token(&user.token).get("/author").await.expect(403);
}

async fn decisions_stop_without_the_standby_and_resume_with_it(setup: TestSetup) {
    let (_primary, standby, app) = start(setup, "quorum").await;
    let admin = app.admin().await;
    let api = app.bearer.with_token(&admin.token);
    api.get("/admin").await.expect(200);
    standby.freeze();
    for response in join_all((0..20).map(|_| api.get("/admin"))).await {
        assert!([503, 504].contains(&response.status), "{response}");
    }
    app.auth().wait_for_readiness(503).await;
    standby.thaw();
    eventually("decisions with the standby", async || {
        (api.get("/admin").await.status == 200).then_some(())
    })
    .await;
    app.auth().wait_for_readiness(200).await;
}

async fn decisions_stop_when_the_server_no_longer_waits_for_a_standby(setup: TestSetup) {
    let (primary, _standby, app) = start(setup, "quorum").await;
    let admin = app.admin().await;
    let api = app.bearer.with_token(&admin.token);
    api.get("/admin").await.expect(200);
    primary.set("synchronous_standby_names", "").await;
    eventually("the setting to be read", async || {
        let response = api.get("/admin").await;
        assert!([200, 503].contains(&response.status), "{response}");
        (response.status == 503).then_some(())
    })
    .await;
    primary.set("synchronous_standby_names", "standby").await;
    eventually("decisions with the standby", async || {
        (api.get("/admin").await.status == 200).then_some(())
    })
    .await;
}

/// Asserts exit 64 with one line of `DATABASE_READS`, and the same line from doctor.
async fn expect_rejected(program: Program, setup: &TestSetup, url: &str, why: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = setup.clone().with("RUST_LOG", "warn").auth_settings(url);
    let exit = Process::start(program, &settings, folder.path()).exit().await;
    let Exit { code, stdout, stderr } = &exit;
    let is_one_line = stderr.starts_with("DATABASE_READS: ") && stderr.lines().count() == 1;
    assert!(is_one_line && stderr.contains(why), "{exit:?}");
    assert_eq!((*code, stdout.as_str()), (Some(64), ""), "{exit:?}");
    if program == Program::FastHashAuthService {
        let doctor = Process::run(program, &["doctor"], &settings, folder.path(), "").await;
        assert!(doctor.stdout.contains(&format!("FAILED database  {stderr}")), "{doctor:?}");
    }
}

#[tokio::test]
async fn quorum_that_cannot_be_is_rejected_at_start() {
    let cluster = OwnCluster::start_synchronous().await;
    cluster.set("synchronous_standby_names", "").await;
    let url = cluster.url();
    for (program, setup) in [
        (Program::FastHashAuthService, TestSetup::split(Store::Postgres)),
        (Program::Rolegate, TestSetup::all_in_one(Store::Postgres)),
    ] {
        let setup = setup.with("DATABASE_READS", "quorum");
        let why = "quorum requires synchronous_standby_names on the server";
        expect_rejected(program, &setup, url.as_str(), why).await;
        expect_rejected(program, &setup, "sqlite://users.db", "quorum requires PostgreSQL").await;
    }
    cluster.set("synchronous_standby_names", "standby").await;
    cluster.set("synchronous_commit", "local").await;
    let setup = TestSetup::split(Store::Postgres).with("DATABASE_READS", "quorum");
    let why = "quorum requires synchronous_commit=on";
    expect_rejected(Program::FastHashAuthService, &setup, url.as_str(), why).await;
}
