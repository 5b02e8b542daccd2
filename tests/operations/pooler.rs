//! A connection pooler in transaction mode is refused by name.

use crate::doctor::expect_line;
use e2e::{Process, Program, Sessions, Store, TestDatabase, TestSetup, TransactionPooler};

#[tokio::test]
async fn pooler_in_transaction_mode_is_refused_by_doctor_and_at_start() {
    let database = TestDatabase::create(Store::Postgres).await;
    let folder = tempfile::tempdir().expect("a folder");
    let setup = TestSetup::split(Store::Postgres);
    for (sessions, problem) in [
        (Sessions::Mixed, "is behind a connection pooler in transaction or statement mode"),
        (Sessions::Discarded, "is behind a connection pooler in transaction or statement mode"),
        (Sessions::Refused, "is behind PgBouncer, which refuses startup parameters"),
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
        assert!(started.stderr.starts_with("DATABASE_URL: PostgreSQL at "), "{started:?}");
        assert!(started.stderr.contains(problem), "{sessions:?}: {started:?}");
    }
}
