//! A read must not share a statement that was sent before the read began. Here the database answers
//! one read late, and a role changes meanwhile. The next read begins after the change, so it must
//! see the new role.

use crate::source::role_by_check;
use e2e::{Store, TestSetup, ext_authz, proof};

const ROUNDS: usize = 6;
/// How many calls without a database query follow a read. Once they are answered, the read has
/// arrived at auth-service, too.
const OTHER_CALLS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_shares_no_statement_that_was_sent_before_a_change_on_postgres() {
    let mut app = TestSetup::split(Store::Postgres)
        .with_database_proxy()
        .start()
        .await;
    let user = app.user("ada").await;
    let client = ext_authz::client(&app.auth().address("grpc")).await;
    let (mut held, mut stale) = (0, 0);
    for round in 0..ROUNDS {
        let (before, after) = if round % 2 == 0 {
            ("user", "author")
        } else {
            ("author", "user")
        };
        assert_eq!(role_by_check(&client, &user.token).await, before);
        app.database_proxy().hold_answers();
        let early = begin(&client, &user.token).await;
        app.database.set_role("ada", after).await;
        let late = begin(&client, &user.token).await;
        app.database_proxy().open();
        let (early, late) = (
            early.await.expect("no panic"),
            late.await.expect("no panic"),
        );
        for role in [&early, &late] {
            assert!(role == before || role == after, "no decision: {role:?}");
        }
        // If the early read saw the new role, its statement was sent after the change and was not
        // held.
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

/// Begins a read and returns once it has arrived at auth-service.
async fn begin(client: &ext_authz::Client, token: &str) -> tokio::task::JoinHandle<String> {
    let (of_read, token) = (client.clone(), token.to_owned());
    let read = tokio::spawn(async move { role_by_check(&of_read, &token).await });
    for _ in 0..OTHER_CALLS {
        assert_eq!(
            role_by_check(client, "no token").await,
            crate::history::ENDED
        );
    }
    read
}
