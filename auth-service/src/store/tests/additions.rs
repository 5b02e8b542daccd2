//! Tests the limit of additions to a user in a minute.

use super::{
    changes::{
        as_owner, begin_second_factor, delete_tokens, insert_token, seen_at,
        turn_off_second_factor, turn_on_second_factor, use_recovery_code,
    },
    insert,
    sessions::{add, ids, new},
};
use crate::{
    change::TokenSelection,
    store::{
        AuditFilter, CodePurpose, WriteError, additions::MAX_ADDITIONS, user_store::UserStore,
    },
    tokens::{OpaqueToken, TokenKind},
    user::User,
};
use futures_util::future::join_all;
use rolegate_proto::Role;
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);
const SECRET: &str = "0123456789ab.sealed";

/// Adds a token of the user on behalf of that user.
async fn add_own(
    store: &UserStore,
    kind: TokenKind,
    user: &User,
    digest: &str,
) -> Result<OpaqueToken, WriteError> {
    insert_token(store, as_owner(user), new(kind, user, digest)).await
}

async fn begin(store: &UserStore, user: &User) -> Result<User, WriteError> {
    begin_second_factor(store, user, SECRET, Vec::new()).await
}

async fn delete_all(store: &UserStore, kind: TokenKind, user: &User) {
    let all = TokenSelection::All;
    delete_tokens(store, as_owner(user), kind, user, all)
        .await
        .expect("deleted");
}

fn assert_full<T>(outcome: Result<T, WriteError>) {
    let Err(WriteError::TooManyAdditions { retry_after }) = outcome.map(drop) else {
        panic!("it was not refused for the number of additions");
    };
    assert!(
        !retry_after.is_zero() && retry_after <= MINUTE,
        "{retry_after:?}"
    );
}

pub(super) async fn additions_of_a_user_are_limited_together_and_ends_are_not(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let bob = insert(store, "bob", Role::USER).await;
    for number in 0..MAX_ADDITIONS {
        match number % 3 {
            0 => drop(begin(store, &ann).await.expect("begun")),
            1 => drop(
                add_own(
                    store,
                    TokenKind::Session,
                    &ann,
                    &format!("session {number}"),
                )
                .await
                .expect("made"),
            ),
            _ => {
                add_own(store, TokenKind::ApiKey, &ann, &format!("key {number}"))
                    .await
                    .expect("made");
                delete_all(store, TokenKind::ApiKey, &ann).await;
            }
        }
        // Because the rows are sealed here, some of them are sealed when the limit is reached, and others are not.
        if number == 100 {
            store.seal().await.expect("sealed");
        }
    }
    for _ in 0..2 {
        assert_full(begin(store, &ann).await);
        assert_full(add_own(store, TokenKind::Session, &ann, "session").await);
        assert_full(add_own(store, TokenKind::ApiKey, &ann, "key").await);
        store.seal().await.expect("sealed");
    }
    delete_all(store, TokenKind::Session, &ann).await;
    assert_eq!(ids(store, TokenKind::Session, &ann).await, [0; 0]);
    add_own(store, TokenKind::ApiKey, &bob, "of bob")
        .await
        .expect("another user");
}

pub(super) async fn exactly_the_limit_is_added_when_much_is_added_at_once(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let digests: Vec<String> = (0..MAX_ADDITIONS + 40)
        .map(|number| format!("session {number}"))
        .collect();
    let mut added = 0;
    for rivals in digests.chunks(8) {
        let outcomes = rivals
            .iter()
            .map(|digest| add_own(store, TokenKind::Session, &ann, digest));
        for outcome in join_all(outcomes).await {
            match outcome {
                Ok(_) => added += 1,
                refused => assert_full(refused),
            }
        }
        store.seal().await.expect("sealed");
    }
    assert_eq!(added, MAX_ADDITIONS);
    let filter = AuditFilter {
        user_id: Some(ann.id),
        event: "session_created".to_owned(),
        limit: 1000,
        ..AuditFilter::default()
    };
    let rows = store.audit(&filter).await.expect("read");
    assert_eq!(i64::try_from(rows.len()).expect("few"), MAX_ADDITIONS);
}

pub(super) async fn refused_additions_leave_nothing_and_those_of_the_operator_are_not_refused(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    for number in 0..50 {
        let digest = format!("key {number}");
        add_own(store, TokenKind::ApiKey, &ann, &digest)
            .await
            .expect("made");
    }
    // Additions that are refused for another reason do not count.
    for _ in 0..MAX_ADDITIONS {
        let refused = add_own(store, TokenKind::ApiKey, &ann, "another").await;
        assert!(matches!(refused, Err(WriteError::ApiKeyLimit)));
    }
    for number in 50..MAX_ADDITIONS {
        let digest = format!("session {number}");
        add_own(store, TokenKind::Session, &ann, &digest)
            .await
            .expect("there is room");
    }
    assert_full(add_own(store, TokenKind::Session, &ann, "one more").await);
    add(store, TokenKind::Session, &ann, "of the operator").await;
    let gone = seen_at(ann.tokens_not_before + 1, &ann);
    let outdated = add_own(store, TokenKind::Session, &gone, "outdated").await;
    assert!(matches!(outdated, Err(WriteError::UserNotFound)));
}

/// Enrolls, uses and turns off a second factor, which adds every kind of row about second factors to the record.
async fn go_round(store: &UserStore, user: &User, digest: &str) -> Result<User, WriteError> {
    let codes = vec![digest.to_owned()];
    let user = begin_second_factor(store, user, SECRET, codes).await?;
    let user = turn_on_second_factor(store, as_owner(&user), &user, SECRET)
        .await
        .expect("what was begun can be turned on");
    assert!(
        use_recovery_code(store, &user, CodePurpose::SignIn, digest).await,
        "a recovery code is never refused for the number of additions"
    );
    turn_off_second_factor(store, as_owner(&user), &user).await
}

pub(super) async fn whoever_turns_a_second_factor_on_and_off_in_a_loop_does_not_fill_the_record(
    store: &UserStore,
) {
    let mut ann = insert(store, "ann", Role::USER).await;
    for number in 0..MAX_ADDITIONS {
        match go_round(store, &ann, &format!("code {number}")).await {
            Ok(user) => ann = user,
            refused => {
                assert_full(refused);
                break;
            }
        }
    }
    store.seal().await.expect("sealed");
    let filter = AuditFilter {
        user_id: Some(ann.id),
        event: String::new(),
        limit: 1000,
        ..AuditFilter::default()
    };
    let rows = store.audit(&filter).await.expect("read").len();
    assert!((100..=300).contains(&rows), "{rows} rows");
    assert_full(add_own(store, TokenKind::ApiKey, &ann, "key").await);
}
