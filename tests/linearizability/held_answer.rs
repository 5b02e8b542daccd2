//! The database answers a read late, and a change comes in between: a read that begins after the change must not
//! share the statement that was sent before it.

use crate::source::Source;
use e2e::{Store, TestSetup, ext_authz, proof};

const ROUNDS: usize = 6;
/// Answers that need no database, so that what was sent before them has arrived.
const OTHER_CALLS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_shares_no_statement_that_was_sent_before_a_change_on_postgres() {
    let mut app = TestSetup::split(Store::Postgres).with_database_proxy().start().await;
    let user = app.user("ada").await;
    let source = Source::ExtAuthz(ext_authz::client(&app.auth().address("grpc")).await);
    let mut stale = 0;
    for round in 0..ROUNDS {
        let (before, after) = if round % 2 == 0 { ("user", "author") } else { ("author", "user") };
        assert_eq!(source.role(&user.token).await, before);
        app.database_proxy().hold_answers();
        let early = begin(&source, &user.token).await;
        app.database.set_role("ada", after).await;
        let late = begin(&source, &user.token).await;
        app.database_proxy().open();
        let early = early.await.expect("no panic");
        assert!(early == before || early == after, "{early}");
        stale += usize::from(late.await.expect("no panic") != after);
    }
    assert_eq!(stale, 0, "of {ROUNDS} reads behind a late answer");
    proof("freshness", &[("late answers", ROUNDS)], &[("stale reads", stale)]);
}

/// Begins a read, and returns when it has arrived.
async fn begin(source: &Source, token: &str) -> tokio::task::JoinHandle<String> {
    let (of_read, token) = (source.clone(), token.to_owned());
    let read = tokio::spawn(async move { of_read.role(&token).await });
    for _ in 0..OTHER_CALLS {
        assert_eq!(source.role("no token").await, crate::history::ENDED);
    }
    read
}
