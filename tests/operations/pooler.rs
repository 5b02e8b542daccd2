//! Checks that a start names a connection pooler in transaction mode and refuses it, and that the log names it while it
//! breaks requests.

use crate::doctor::expect_line;
use e2e::{
    Process, Program, Sessions, Store, TestDatabase, TestSetup, TransactionPooler, eventually,
    for_postgres_deployments,
};

for_postgres_deployments!(pooler_that_changes_its_mode_is_named_in_the_error_line);

#[tokio::test]
async fn pooler_in_transaction_mode_is_refused_by_doctor_and_at_start() {
    let database = TestDatabase::create(Store::Postgres).await;
    let folder = tempfile::tempdir().expect("a folder");
    let setup = TestSetup::split(Store::Postgres);
    for (sessions, problem) in [
        (
            Sessions::Mixed,
            "is behind a connection pooler in transaction or statement mode",
        ),
        (
            Sessions::Discarded,
            "is behind a connection pooler in transaction or statement mode",
        ),
        (
            Sessions::Refused,
            "is behind PgBouncer, which refuses startup parameters",
        ),
    ] {
        let pooler = TransactionPooler::start(database.address(), sessions).await;
        let auth = setup.auth_settings(&database.url_through(pooler.address()));
        let run = async |arguments: &[&str]| {
            Process::run(Program::AuthService, arguments, &auth, folder.path(), "").await
        };
        let checked = run(&["doctor"]).await;
        assert_eq!(checked.code, Some(1), "{sessions:?}: {checked:?}");
        expect_line(&checked, "FAILED database", problem);
        let started = run(&[]).await;
        assert_eq!(started.code, Some(64), "{sessions:?}: {started:?}");
        assert!(
            started.stderr.starts_with("DATABASE_URL: PostgreSQL at "),
            "{started:?}"
        );
        assert!(
            started.stderr.contains(problem),
            "{sessions:?}: {started:?}"
        );
    }
}

async fn pooler_that_changes_its_mode_is_named_in_the_error_line(setup: TestSetup) {
    // With mixed sessions, a prepared statement already exists (42P05). With discarded sessions, it no longer exists
    // (26000).
    for sessions in [Sessions::Mixed, Sessions::Discarded] {
        let mut app = setup.clone().with_database_proxy().start().await;
        let ann = app.user("ann").await;
        let pooler = TransactionPooler::start(app.database.address(), sessions).await;
        let proxy = app.database_proxy();
        proxy.cut();
        proxy.retarget(pooler.address());
        proxy.open();
        let named = "PostgreSQL is behind a connection pooler in transaction or statement mode";
        eventually(&format!("an error line: {sessions:?}"), async || {
            let profile = app.bearer.with_token(&ann.token);
            let answers = tokio::join!(
                profile.get("/profile"),
                app.try_register("bob", "password of bob"),
                app.try_log_in("ann", "wrong"),
            );
            for answer in <[_; 3]>::from(answers) {
                let is_outage = answer.status != 500 && !answer.body.contains("pooler");
                assert!(
                    is_outage,
                    "{sessions:?}: {answer:?}\n{}",
                    app.auth().stderr()
                );
            }
            let log = app.auth().stderr();
            let is_named = |line: &str| line.contains("call failed") && line.contains(named);
            log.lines().any(is_named).then_some(())
        })
        .await;
    }
}
