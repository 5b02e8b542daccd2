//! The database answers a read late, and a change comes in between: a read that begins after the change must not
//! share the statement that was sent before it.

use crate::source::Source;
use e2e::{Store, TestSetup, ext_authz, proof};

const ROUNDS: usize = 6;
/// Calls that need no database: after them, what was sent before has arrived at auth-service.
const OTHER_CALLS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_shares_no_statement_that_was_sent_before_a_change_on_postgres() {
    let mut app = TestSetup::split(Store::Postgres)
        .with_database_proxy()
        .start()
        .await;
    let user = app.user("ada").await;
    let source = Source::ExtAuthz(ext_authz::client(&app.auth().address("grpc")).await);
    let (mut held, mut stale) = (0, 0);
    for round in 0..ROUNDS {
        let (before, after) = if round % 2 == 0 {
            ("user", "author")
        } else {
            ("author", "user")
        };
        assert_eq!(source.role(&user.token).await, before);
        app.database_proxy().hold_answers();
        let early = begin(&source, &user.token).await;
        app.database.set_role("ada", after).await;
        let late = begin(&source, &user.token).await;
        app.database_proxy().open();
        let (early, late) = (
            early.await.expect("no panic"),
            late.await.expect("no panic"),
        );
        for role in [&early, &late] {
            assert!(role == before || role == after, "no decision: {role:?}");
        }
        // Otherwise its statement was sent after the change.
        held += usize::from(early == before);
        stale += usize::from(late != after);
    }
    assert_eq!(stale, 0, "of {held} reads behind a late answer");
    assert!(held > 0, "no answer was late");
    proof(
        "freshness",
        &[("late answers", held)],
        &[("stale reads", stale)],
    );
}

/// Begins a read, and returns when it has arrived at auth-service.
async fn begin(source: &Source, token: &str) -> tokio::task::JoinHandle<String> {
    let (of_read, token) = (source.clone(), token.to_owned());
    let read = tokio::spawn(async move { of_read.role(&token).await });
    for _ in 0..OTHER_CALLS {
        assert_eq!(source.role("no token").await, crate::history::ENDED);
    }
    read
}
