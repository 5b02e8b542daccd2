//! Tests when pending sign-ins end in a database, and that older releases do not accept them as credentials.

use super::{
    changes::{begin_second_factor, insert_token_by, turn_on_second_factor},
    end_all::{Opened, open},
};
use crate::{
    principal::Principal,
    store::WriteError,
    tokens::{NewToken, TokenKind},
    user::User,
};
use rolegate_sql_store::Timed;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        a_pending_sign_in_ends_after_five_minutes_by_the_clock_of_the_database,
        rows_of_sign_ins_that_have_ended_go_with_the_next_one,
        a_program_that_does_not_know_the_table_finds_no_session,
    ]
}

/// Inserts a user whose second factor is on, and the pending sign-in `one` of that user.
async fn pending(opened: &Opened) -> User {
    let ann = opened.insert("ann").await;
    begin_second_factor(&opened.store, &ann, &[]).await;
    let ann = turn_on_second_factor(&opened.store, &ann).await;
    begin(opened, &ann, "one").await;
    ann
}

async fn begin(opened: &Opened, user: &User, digest: &str) {
    let now = opened.store.users_by_id(&[], &[]).await.expect("read").at;
    let user = Timed {
        at: now,
        value: user.clone(),
    };
    let begun = opened
        .store
        .insert_pending_sign_in(&user, digest.to_owned());
    begun.await.expect("begun");
}

async fn is_good(opened: &Opened) -> bool {
    let found = opened.store.pending_sign_in("one").await;
    found.expect("read").value.is_some()
}

/// Runs a statement that changes the pending sign-ins as if time had passed.
async fn wait(opened: &Opened, sql: &'static str) {
    opened.execute(sql).await;
}

async fn a_pending_sign_in_ends_after_five_minutes_by_the_clock_of_the_database(opened: &Opened) {
    let ann = pending(opened).await;
    // The test itself takes less than a minute, so the sign-in is still valid after it was aged by four minutes.
    let most = "UPDATE pending_sign_in SET expires_at = expires_at - 240 RETURNING expires_at";
    wait(opened, most).await;
    assert!(is_good(opened).await);
    let rest = "UPDATE pending_sign_in SET expires_at = expires_at - 60 RETURNING expires_at";
    wait(opened, rest).await;
    assert!(!is_good(opened).await);
    let session = NewToken::session(&ann, "session");
    let by = Principal::PendingSignIn {
        tokens_not_before: ann.tokens_not_before,
        digest: "one".to_owned(),
    };
    let refused = insert_token_by(&opened.store, by, session).await;
    assert!(
        matches!(refused, Err(WriteError::UserNotFound)),
        "{refused:?}"
    );
}

async fn rows_of_sign_ins_that_have_ended_go_with_the_next_one(opened: &Opened) {
    let ann = pending(opened).await;
    begin(opened, &ann, "two").await;
    let database = &opened.operator_database.database;
    let rows = async || {
        let select = database.statement("SELECT digest FROM pending_sign_in ORDER BY digest");
        database.read::<String>(select).await.expect("read")
    };
    assert_eq!(rows().await, ["one", "two"]);
    let all = "UPDATE pending_sign_in SET expires_at = expires_at - 300 RETURNING expires_at";
    wait(opened, all).await;
    begin(opened, &ann, "three").await;
    assert_eq!(rows().await, ["three"]);
}

async fn a_program_that_does_not_know_the_table_finds_no_session(opened: &Opened) {
    let ann = pending(opened).await;
    // A process of an older release finds all credentials in the table `api_key`.
    let found = opened
        .store
        .tokens_by_digest(&["one".to_owned()], &[])
        .await;
    assert_eq!(found.expect("read").value, []);
    for kind in [TokenKind::Session, TokenKind::ApiKey] {
        let tokens = opened.store.tokens_of_user(kind, ann.id).await;
        assert_eq!(tokens.expect("read").value, [], "{kind:?}");
    }
    let link = opened.store.password_link("one").await;
    assert_eq!(link.expect("read").value, None);
}
