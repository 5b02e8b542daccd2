//! Tests `DATABASE_READS=quorum`, with which a read counts only when a synchronous standby has acknowledged it.

use e2e::{
    Api, Exit, OpaqueToken, Process, Program, Store, TestApp, TestSetup, TestUser, eventually,
    for_postgres_deployments, grpc, postgres::OwnCluster, proof,
};
use futures_util::future::join_all;
use rolegate_proto::auth_v1::{
    AnyAuthenticated, AuthorizeRequest, BatchAuthorizeRequest, authorize_outcome::Outcome,
    authorize_request::Requirement,
};
use std::time::Instant;

for_postgres_deployments!(
    superseded_primary_answers_no_request,
    decisions_stop_without_the_standby_and_resume_with_it,
    decisions_stop_when_the_server_no_longer_waits_for_a_standby,
    batch_of_tokens_keys_and_sessions_takes_two_statements,
    deleted_key_and_session_are_refused_at_once,
);

async fn start(setup: TestSetup, reads: &str) -> (OwnCluster, OwnCluster, TestApp) {
    let primary = OwnCluster::start_synchronous().await;
    let standby = primary.start_standby();
    let app = setup
        .on_server(primary.url())
        .with("DATABASE_READS", reads)
        .start()
        .await;
    (primary, standby, app)
}

/// Returns the API with each credential of the user: an access token, a session and an API key.
async fn by_each_credential(bearer: &Api, user: &TestUser) -> [Api; 3] {
    let (session, key) = (user.session(bearer).await, user.key(bearer).await);
    [&user.token, &session.token, &key.token].map(|token| bearer.with_token(token))
}

/// Promotes the standby while the old primary still answers its clients, as after a network split.
async fn supersede(
    setup: TestSetup,
    reads: &str,
) -> (OwnCluster, OwnCluster, TestApp, TestUser, [Api; 3]) {
    let (primary, standby, app) = start(setup, reads).await;
    let user = app.user("reader").await;
    let apis = by_each_credential(&app.bearer, &user).await;
    for api in &apis {
        api.get("/author").await.expect(403);
    }
    standby.execute("postgres", "SELECT pg_promote()").await;
    (primary, standby, app, user, apis)
}

async fn superseded_primary_answers_no_request(setup: TestSetup) {
    let (_primary, _standby, app, user, apis) = supersede(setup.clone(), "quorum").await;
    let basic = app.basic.with_basic(&user.username, &user.password);
    let mut responses = Vec::new();
    for api in &apis {
        responses.extend(join_all((0..20).map(|_| api.get("/author"))).await);
    }
    responses.push(basic.get("/protected").await);
    responses.push(app.try_log_in(&user.username, &user.password).await);
    // A registration also reads whether the name is taken.
    responses.push(app.try_register(&user.username, "password").await);
    let refused = [503, 504];
    let asked = responses.len();
    responses.retain(|response| !refused.contains(&response.status));
    assert!(responses.is_empty(), "{responses:#?}");
    app.auth().wait_for_readiness(503).await;
    let tried = [("superseded primaries", 1), ("requests to it", asked)];
    proof("quorum", &tried, &[("answered from it", responses.len())]);

    // Without the quorum, the old primary answers from data that may be outdated. This shows that the test can find
    // that.
    let (_primary, _standby, _app, _, apis) = supersede(setup, "primary").await;
    for api in apis {
        api.get("/author").await.expect(403);
    }
}

async fn decisions_stop_without_the_standby_and_resume_with_it(setup: TestSetup) {
    let (_primary, standby, app) = start(setup, "quorum").await;
    let admin = app.admin().await;
    let apis = by_each_credential(&app.bearer, &admin).await;
    for api in &apis {
        api.get("/admin").await.expect(200);
    }
    standby.freeze();
    let mut responses = join_all((0..20).map(|index| apis[index % 3].get("/admin"))).await;
    let asked = responses.len();
    responses.retain(|response| ![503, 504].contains(&response.status));
    assert!(responses.is_empty(), "{responses:#?}");
    let tried = [("requests without a standby", asked)];
    proof(
        "quorum",
        &tried,
        &[("answered without it", responses.len())],
    );
    app.auth().wait_for_readiness(503).await;
    standby.thaw();
    for api in &apis {
        eventually("decisions with the standby", async || {
            (api.get("/admin").await.status == 200).then_some(())
        })
        .await;
    }
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

async fn batch_of_tokens_keys_and_sessions_takes_two_statements(setup: TestSetup) {
    const ROUNDS: u64 = 20;
    let (primary, _standby, app) = start(setup, "quorum").await;
    let (mut tokens, mut opaque) = (Vec::new(), Vec::new());
    for number in 0..8 {
        let user = app.user(&format!("user {number}")).await;
        opaque.push(user.key(&app.bearer).await.token);
        opaque.push(user.session(&app.bearer).await.token);
        tokens.push(user.token);
    }
    // Sign-ins are recorded after their responses. This waits for them, so that they do not count as statements below.
    eventually("the record of the sign-ins", async || {
        let recorded = "SELECT 1 FROM audit WHERE event = 'session_created'";
        (app.database.count_rows(recorded).await == tokens.len()).then_some(())
    })
    .await;
    let all = [&tokens[..], &opaque].concat();
    let mut auth = grpc::client(&app.auth().address("grpc")).await;
    let mut decide = async |credentials: &[String]| {
        let item = |credential: &String| AuthorizeRequest {
            access_token: credential.clone(),
            requirement: Some(Requirement::AnyAuthenticated(AnyAuthenticated {})),
            client_address: None,
            from_cookie: false,
        };
        let items = credentials.iter().map(item).collect();
        let batch = auth
            .batch_authorize(BatchAuthorizeRequest { items })
            .await
            .expect("decided");
        let outcomes = batch.into_inner().outcomes.into_iter();
        outcomes
            .map(|outcome| outcome.outcome.expect("one"))
            .collect::<Vec<_>>()
    };
    for (credentials, statements) in [(&tokens, 1), (&opaque, 1), (&all, 2)] {
        // A read that the standby acknowledges uses a transaction id, and other reads use none.
        let (started, before) = (Instant::now(), primary.next_transaction().await);
        for _ in 0..ROUNDS {
            for outcome in decide(credentials).await {
                assert!(matches!(outcome, Outcome::User(_)), "{outcome:?}");
            }
        }
        let spent = primary.next_transaction().await - before;
        // Other transactions are the checks of both services, one each second, and the writes of the times of use and of
        // search keys.
        let others = 2 * (2 + started.elapsed().as_secs()) + 2;
        let expected = ROUNDS * statements..=ROUNDS * statements + others;
        assert!(expected.contains(&spent), "{spent} instead of {expected:?}");
    }
}

async fn deleted_key_and_session_are_refused_at_once(setup: TestSetup) {
    let (_primary, _standby, app) = start(setup, "quorum").await;
    let user = app.user("ann").await;
    let own = app.bearer.with_token(&user.token);
    for _ in 0..5 {
        let (key, session) = (user.key(&app.bearer).await, user.session(&app.bearer).await);
        for (what, OpaqueToken { id, token }) in [("keys", key), ("sessions", session)] {
            let api = app.bearer.with_token(&token);
            api.get("/profile").await.expect(200);
            // Other decisions are made at the same time, so that they share statements.
            let path = format!("/profile/{what}/{id}");
            let others = || join_all((0..10).map(|_| own.get("/profile")));
            let (deleted, _) = tokio::join!(own.delete(&path), others());
            deleted.expect(200);
            let (refused, _) =
                tokio::join!(join_all((0..10).map(|_| api.get("/profile"))), others());
            for refused in refused {
                refused.expect_detail(401, "Invalid or expired token.");
            }
        }
    }
}

/// Asserts that a start ends with exit code 64 and one line about `DATABASE_READS`, and that doctor prints the same
/// line.
async fn expect_rejected(program: Program, setup: &TestSetup, url: &str, why: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = setup.clone().with("RUST_LOG", "warn").auth_settings(url);
    let exit = Process::start(program, &settings, folder.path())
        .exit()
        .await;
    let Exit {
        code,
        stdout,
        stderr,
    } = &exit;
    let is_one_line = stderr.starts_with("DATABASE_READS: ") && stderr.lines().count() == 1;
    assert!(is_one_line && stderr.contains(why), "{exit:?}");
    assert_eq!((*code, stdout.as_str()), (Some(64), ""), "{exit:?}");
    if program == Program::FastHashAuthService {
        let doctor = Process::run(program, &["doctor"], &settings, folder.path(), "").await;
        assert!(
            doctor
                .stdout
                .contains(&format!("FAILED database  {stderr}")),
            "{doctor:?}"
        );
    }
}

#[tokio::test]
async fn quorum_that_cannot_be_is_rejected_at_start() {
    let cluster = OwnCluster::start_synchronous().await;
    cluster.set("synchronous_standby_names", "").await;
    let url = cluster.url();
    for (program, setup) in [
        (
            Program::FastHashAuthService,
            TestSetup::split(Store::Postgres),
        ),
        (Program::Rolegate, TestSetup::all_in_one(Store::Postgres)),
    ] {
        let setup = setup.with("DATABASE_READS", "quorum");
        let why = "quorum requires synchronous_standby_names on the server";
        expect_rejected(program, &setup, url.as_str(), why).await;
        expect_rejected(
            program,
            &setup,
            "sqlite://users.db",
            "quorum requires PostgreSQL",
        )
        .await;
    }
    cluster.set("synchronous_standby_names", "standby").await;
    cluster.set("synchronous_commit", "local").await;
    let setup = TestSetup::split(Store::Postgres).with("DATABASE_READS", "quorum");
    let why = "quorum requires synchronous_commit=on";
    expect_rejected(Program::FastHashAuthService, &setup, url.as_str(), why).await;
}
