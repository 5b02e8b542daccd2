//! Tests pending sign-ins, for which the password was right and the code is still missing.

use super::{
    assert_not_found,
    changes::{
        as_owner, begin_second_factor, delete, disable, enable, insert_tokens, rename,
        revoke_tokens, seen_at, set_password, stranger, turn_off_second_factor,
        turn_on_second_factor,
    },
    get, insert,
    second_factor::enrolled,
};
use crate::{
    principal::Principal,
    store::{WriteError, additions::MAX_ADDITIONS, user_store::UserStore},
    tokens::{MAX_PENDING_SIGN_INS, NewToken, OpaqueToken, SecretKind, TokenKind},
    user::User,
};
use rolegate_proto::Role;
use rolegate_sql_store::Timed;
use tokio::join;

async fn begin(store: &UserStore, user: &User, digest: &str) -> Result<(), WriteError> {
    let now = store.users_by_id(&[], &[]).await.expect("read").at;
    let user = Timed {
        at: now,
        value: user.clone(),
    };
    store.insert_pending_sign_in(&user, digest.to_owned()).await
}

async fn user_of(store: &UserStore, digest: &str) -> Option<i64> {
    let found = store.pending_sign_in(digest).await.expect("read");
    found.value.map(|user| user.id)
}

/// Completes the pending sign-in, which creates this many sessions for the user.
async fn finish(
    store: &UserStore,
    user: &User,
    digest: &str,
    sessions: usize,
) -> Result<Vec<OpaqueToken>, WriteError> {
    let mut tokens = Vec::new();
    for _ in 0..sessions {
        let made = SecretKind::Session.generate().expect("randomness");
        tokens.push(NewToken::session(user, &made.digest));
    }
    let by = Principal::PendingSignIn {
        tokens_not_before: user.tokens_not_before,
        digest: digest.to_owned(),
    };
    insert_tokens(store, by, tokens).await
}

async fn count_sessions(store: &UserStore, user: &User) -> usize {
    let sessions = store.tokens_of_user(TokenKind::Session, user.id).await;
    sessions.expect("read").value.len()
}

pub(super) async fn a_pending_sign_in_makes_its_sessions_once(store: &UserStore) {
    let ann = enrolled(store, "ann").await;
    for digest in ["one", "two"] {
        begin(store, &ann, digest).await.expect("begun");
        assert_eq!(user_of(store, digest).await, Some(ann.id));
    }
    assert_eq!(user_of(store, "three").await, None);
    assert_not_found(finish(store, &ann, "three", 2).await);
    let (one, other) = join!(finish(store, &ann, "one", 2), finish(store, &ann, "one", 2));
    assert_eq!(
        [one.is_ok(), other.is_ok()]
            .iter()
            .filter(|won| **won)
            .count(),
        1,
        "of two at once, one counts: {one:?} {other:?}"
    );
    assert_eq!(user_of(store, "one").await, None);
    assert_not_found(finish(store, &ann, "one", 2).await);
    assert_eq!(count_sessions(store, &ann).await, 2);
    assert_eq!(user_of(store, "two").await, Some(ann.id), "it is another");
    finish(store, &ann, "two", 1).await.expect("signed in");
}

pub(super) async fn a_pending_sign_in_is_of_its_user_only(store: &UserStore) {
    let ann = enrolled(store, "ann").await;
    let bob = enrolled(store, "bob").await;
    begin(store, &ann, "of ann").await.expect("begun");
    let as_ann = User {
        id: bob.id,
        ..ann.clone()
    };
    for user in [&bob, &as_ann] {
        assert_not_found(finish(store, user, "of ann", 1).await);
    }
    assert_eq!(count_sessions(store, &bob).await, 0);
    assert_eq!(
        user_of(store, "of ann").await,
        Some(ann.id),
        "it is not used up"
    );
}

pub(super) async fn a_sign_in_is_pending_only_while_tokens_are_those_that_were_seen(
    store: &UserStore,
) {
    let ann = enrolled(store, "ann").await;
    let stale = seen_at(ann.tokens_not_before - 1, &ann);
    assert_not_found(begin(store, &stale, "stale").await);
    assert_not_found(begin(store, &stranger(&ann), "nobody").await);
    let bob = insert(store, "bob", Role::USER).await;
    assert_not_found(begin(store, &bob, "without a second factor").await);
    begin(store, &ann, "good").await.expect("begun");
    assert_not_found(finish(store, &stale, "good", 1).await);
    let disabled = disable(store, Principal::Operator, &ann)
        .await
        .expect("disabled");
    assert_not_found(begin(store, &disabled, "disabled").await);
    for digest in ["stale", "nobody", "without a second factor", "disabled"] {
        assert_eq!(user_of(store, digest).await, None, "{digest}");
    }
}

/// The changes that end the pending sign-ins of a user.
#[derive(Clone, Copy, Debug)]
enum End {
    Password,
    Revocation,
    Disabling,
    DisablingAndEnabling,
    Renaming,
    SecondFactorOff,
    SecondFactorAnew,
    Deletion,
}

async fn end(store: &UserStore, user: &User, end: End) {
    let by = Principal::Operator;
    let changed = match end {
        End::Password => set_password(store, by, user, "new").await,
        End::Revocation => revoke_tokens(store, by, user).await,
        End::Disabling => disable(store, by, user).await,
        End::DisablingAndEnabling => {
            let disabled = disable(store, by.clone(), user).await;
            enable(store, by, &disabled.expect("disabled")).await
        }
        End::Renaming => rename(store, by, user, &format!("{} anew", user.username)).await,
        End::SecondFactorOff => turn_off_second_factor(store, by, user).await,
        End::SecondFactorAnew => {
            let off = turn_off_second_factor(store, by, user).await.expect("off");
            let begun = begin_second_factor(store, &off, "anew", Vec::new()).await;
            begun.expect("begun");
            turn_on_second_factor(store, as_owner(&off), &off, "anew").await
        }
        End::Deletion => delete(store, by, user).await,
    };
    changed.expect("changed");
}

pub(super) async fn whatever_ends_tokens_or_the_second_factor_ends_pending_sign_ins(
    store: &UserStore,
) {
    for way in [
        End::Password,
        End::Revocation,
        End::Disabling,
        End::DisablingAndEnabling,
        End::Renaming,
        End::SecondFactorOff,
        End::SecondFactorAnew,
        End::Deletion,
    ] {
        let digest = format!("{way:?}");
        let user = enrolled(store, &digest).await;
        begin(store, &user, &digest).await.expect("begun");
        end(store, &user, way).await;
        assert_eq!(user_of(store, &digest).await, None, "{way:?}");
        let now = get(store, user.id).await;
        for user in [Some(user), now].into_iter().flatten() {
            assert_not_found(finish(store, &user, &digest, 1).await);
            assert_eq!(count_sessions(store, &user).await, 0, "{way:?}");
        }
    }
}

pub(super) async fn the_newest_ten_sign_ins_of_a_user_are_pending(store: &UserStore) {
    let ann = enrolled(store, "ann").await;
    let bob = enrolled(store, "bob").await;
    begin(store, &bob, "of bob").await.expect("begun");
    let max = usize::try_from(MAX_PENDING_SIGN_INS).expect("few");
    let begun = async |from: usize, to: usize| {
        for number in from..to {
            begin(store, &ann, &format!("{number}"))
                .await
                .expect("begun");
        }
    };
    join!(begun(0, max), begun(max, 2 * max), begun(2 * max, 3 * max));
    let mut good = 0;
    for number in 0..3 * max {
        good += usize::from(user_of(store, &format!("{number}")).await.is_some());
    }
    assert_eq!(good, max);
    begin(store, &ann, "last").await.expect("begun");
    assert_eq!(user_of(store, "last").await, Some(ann.id));
    assert_eq!(
        user_of(store, "of bob").await,
        Some(bob.id),
        "of another user"
    );
}

pub(super) async fn a_sign_in_without_room_for_its_sessions_stays_pending(store: &UserStore) {
    let ann = enrolled(store, "ann").await;
    begin(store, &ann, "pending").await.expect("begun");
    // Enrolling the second factor and turning it on count as two additions.
    for _ in 0..MAX_ADDITIONS - 3 {
        begin(store, &ann, "another").await.expect("begun");
        finish(store, &ann, "another", 1).await.expect("signed in");
    }
    let refused = finish(store, &ann, "pending", 2).await;
    assert!(
        matches!(refused, Err(WriteError::TooManyAdditions { .. })),
        "{refused:?}"
    );
    assert_eq!(user_of(store, "pending").await, Some(ann.id));
    finish(store, &ann, "pending", 1)
        .await
        .expect("there is room for one");
}
