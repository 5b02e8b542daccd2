//! Tests a PostgreSQL server that has lost its synchronous standby, so that commits wait without end.

use crate::failover::milliseconds;
use e2e::{
    ADMIN_PASSWORD, Api, Process, Store, TcpProxy, TestSetup, TestUser, eventually,
    postgres::OwnCluster, proof,
};
use serde_json::json;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

const WRITERS: usize = 20;
/// The most connections of the service: those of the pool, and one more.
const MAX_CONNECTIONS: i64 = 11;
/// The store's time limit for a statement. An immediate refusal takes much less.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);
const READ_ONLY: &str = "Service is temporarily read-only.";

async fn execute(server: &mut PgConnection, statements: &[&'static str]) {
    for &sql in statements {
        sqlx::raw_sql(sql)
            .execute(&mut *server)
            .await
            .expect("executed");
    }
}

async fn connections(server: &mut PgConnection) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'rolegate auth-service'";
    sqlx::query_scalar(sql)
        .fetch_one(server)
        .await
        .expect("counted")
}

async fn exists(server: &mut PgConnection, username: &str) -> bool {
    let sql = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = $1)"#;
    sqlx::query_scalar(sql)
        .bind(username)
        .fetch_one(server)
        .await
        .expect("a boolean")
}

/// Registers users until `stop` is set, and returns the name, the status and the detail of each.
async fn write_until(api: Api, writer: usize, stop: Arc<AtomicBool>) -> Vec<(String, u16, String)> {
    let mut responses = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let name = format!("user-{writer}-{}", responses.len());
        let user = json!({ "username": name, "password": "open sesame" });
        let response = api.post("/register", &user).await;
        let detail = response.json()["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        responses.push((name, response.status, detail));
        // Ordinary clients wait before they try again after a refusal, so this one pauses, too.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    responses
}

#[tokio::test]
#[expect(
    clippy::too_many_lines,
    reason = "one story, whose later steps depend on the earlier ones"
)]
async fn lost_standby_stops_writes_and_neither_decisions_nor_other_clients() {
    let cluster = OwnCluster::start(None);
    let url = cluster.url_by("127.0.0.1", "options=-c%20synchronous_commit%3Don");
    let mut server = PgConnection::connect(&cluster.url_by("127.0.0.1", ""))
        .await
        .expect("there");
    let setup = TestSetup::all_in_one(Store::Postgres);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let process = Process::start(
        setup.auth_program(),
        &setup.auth_settings(&url),
        folder.path(),
    );
    let process = process.ready().await;
    let (api, ops) = (
        Api::at(&process.address("bearer")),
        Api::at(&process.address("ops")),
    );
    let admin = TestUser::log_in(&api, "admin", ADMIN_PASSWORD).await;
    let admin_api = api.with_token(&admin.token);

    let lose = [
        "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
        "SELECT pg_reload_conf()",
    ];
    execute(&mut server, &lose).await;
    let post = json!({ "title": "A title", "content": "Content." });
    eventually("a post whose commit has no answer", async || {
        (admin_api.post("/posts", &post).await.status == 504).then_some(())
    })
    .await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write_until(api.clone(), writer, Arc::clone(&stop)));
    }
    // In this time, each writer would occupy more than two connections if a waiting commit kept its connection.
    let end = Instant::now() + 4 * STATEMENT_TIMEOUT;
    let (mut decisions, mut slowest) = (0, Duration::ZERO);
    while Instant::now() < end {
        let asked = Instant::now();
        admin_api.get("/admin").await.expect(200);
        decisions += 1;
        slowest = slowest.max(asked.elapsed());
        let open = connections(&mut server).await;
        assert!(open <= MAX_CONNECTIONS, "{open} connections");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let started = Instant::now();
    let role = json!({ "role": "author" });
    let refused = admin_api
        .put(&format!("/users/{}/role", admin.id), &role)
        .await;
    refused.expect_detail(503, READ_ONLY).expect_retry_after();
    assert!(
        started.elapsed() < STATEMENT_TIMEOUT,
        "{:?}",
        started.elapsed()
    );
    let readiness = ops.get("/readyz").await;
    assert!(readiness.expect(200).body.contains("commit"), "{readiness}");
    stop.store(true, Ordering::Relaxed);
    let responses: Vec<_> = writers.join_all().await.into_iter().flatten().collect();
    let log = process.stderr();
    for change in ["registered", "post_created"] {
        let is_event = |line: &str| line.contains("outcome_unknown") && line.contains(change);
        assert!(
            log.lines().any(is_event),
            "no audit event of {change}, which may be made: {log}"
        );
    }
    let lines = log
        .lines()
        .filter(|line| line.contains("no answer to a commit"))
        .count();
    assert_eq!(lines, 2, "one for users, one for posts: {log}");

    let find = [
        "ALTER SYSTEM RESET synchronous_standby_names",
        "SELECT pg_reload_conf()",
    ];
    execute(&mut server, &find).await;
    eventually("writes to succeed", async || {
        let user = json!({ "username": "last", "password": "open sesame" });
        let response = api.post("/register", &user).await;
        assert!([200, 503].contains(&response.status), "{response}");
        (response.status == 200).then_some(())
    })
    .await;
    eventually("an ordinary readiness", async || {
        (ops.get("/readyz").await.expect(200).body == "ready\n").then_some(())
    })
    .await;
    let (mut unknown, mut refused, mut wrong) = (0, 0, Vec::new());
    let tried = [
        ("changes without a standby", responses.len()),
        ("decisions meanwhile", decisions),
    ];
    for (name, status, detail) in responses {
        let is_stored = exists(&mut server, &name).await;
        match (status, detail.as_str()) {
            // The server reloads its settings some time after the request, so commits before that are acknowledged.
            (200, "") if !is_stored => wrong.push(format!("{name} was acknowledged")),
            (200, "") | (503, "Service temporarily unavailable.") => {}
            (504, "Upstream timed out.") => unknown += usize::from(is_stored),
            (503, READ_ONLY) if is_stored => {
                wrong.push(format!("{name} was refused, and is stored"));
            }
            (503, READ_ONLY) => refused += 1,
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        unknown > 0,
        "a commit that was answered 504 has happened nevertheless"
    );
    proof(
        "unanswered-commits",
        &tried,
        &[
            ("answers that were wrong", wrong.len()),
            ("refused and not made", refused),
            ("answered 504 and made", unknown),
            ("slowest decision in milliseconds", milliseconds(slowest)),
        ],
    );
}

#[tokio::test]
async fn write_whose_connection_is_dead_frees_its_place() {
    let mut app = TestSetup::split(Store::Postgres)
        .with_database_proxy()
        .start()
        .await;
    let admin = app.admin().await;
    let api = app.bearer.with_token(&admin.token);
    // The pool uses this request's connection again without a check, because it was in use a moment ago.
    api.get("/admin").await.expect(200);
    // This session looks like one of ours, such as that of a replica that migrates. It must not be ended.
    let busy: PgConnectOptions = app.database.url().parse().expect("a URL");
    let mut busy = busy
        .application_name("rolegate auth-service")
        .connect()
        .await
        .expect("there");
    let busy = tokio::spawn(async move {
        sqlx::query("SELECT pg_sleep(600)")
            .execute(&mut busy)
            .await
            .map(drop)
    });
    app.database_proxy().freeze_connections();
    let user = json!({ "username": "ann", "password": "open sesame" });
    let bob = json!({ "username": "bob", "password": "open sesame" });
    let uncertain = app.bearer.post("/register", &user).await;
    assert!([200, 503, 504].contains(&uncertain.status), "{uncertain}");
    eventually("writes to succeed", async || {
        let response = app.bearer.post("/register", &bob).await;
        assert!([200, 503, 504].contains(&response.status), "{response}");
        (response.status == 200).then_some(())
    })
    .await;
    api.get("/admin").await.expect(200);
    assert!(!busy.is_finished(), "it was busy throughout");
    busy.abort();
}

#[tokio::test]
async fn a_change_whose_connection_breaks_during_the_commit_is_audited_as_unknown() {
    let cluster = OwnCluster::start(None);
    let proxy = TcpProxy::to(cluster.address());
    let port = proxy.address().port();
    let url = format!(
        "postgres://postgres@127.0.0.1:{port}/postgres?options=-c%20synchronous_commit%3Don"
    );
    let app = TestSetup::split(Store::Postgres)
        .with("DATABASE_URL", &url)
        .start()
        .await;
    let lose = [
        "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
        "SELECT pg_reload_conf()",
    ];
    for sql in lose {
        cluster.execute("postgres", sql).await;
    }
    let cut = async {
        // The commit of the service's own work in the background, such as the sealing of the record, may wait, too.
        eventually("the commit to wait", async || {
            let is_waiting = cluster.has_waiting_commit_to("user").await;
            is_waiting.then_some(())
        })
        .await;
        proxy.cut();
    };
    // The server reloads its settings some time after the request, so this is repeated until a commit is not answered.
    let (mut number, bearer) = (0, &app.bearer);
    let unanswered = eventually("a change without an answer", || {
        number += 1;
        let user = json!({ "username": format!("ann {number}"), "password": "open sesame" });
        async move { Some(bearer.post("/register", &user).await).filter(|it| it.status != 200) }
    });
    let (registered, ()) = tokio::join!(unanswered, cut);
    registered.expect_detail(504, "Upstream timed out.");
    let is_audited = |line: &str| line.contains("outcome_unknown") && line.contains("registered");
    app.auth().logs("the change", is_audited).await;
}
