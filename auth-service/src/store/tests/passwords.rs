//! Tests changes of passwords.

use super::{
    assert_not_found,
    changes::{as_admin, as_owner, seen_at, set_password, stranger},
    get, hash, insert,
    revoked_tokens::assert_revoked_since,
};
use crate::{principal::Principal, store::user_store::UserStore, user::User};
use rolegate_proto::Role;

pub(super) async fn set_password_requires_what_its_writer_saw(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let nobody = stranger(&ann);
    for (user, by) in [
        // The first principal is not an admin, the second does not exist, and the third has a `tokens_not_before` that
        // the user does not have.
        (&ann, as_admin(&ann)),
        (&ann, as_admin(&nobody)),
        (&ann, as_owner(&seen_at(1, &ann))),
        (&nobody, as_admin(&admin)),
        (&nobody, Principal::Operator),
        // These have not proved what a change of the password needs.
        (&ann, Principal::Claimant),
        (&ann, Principal::Sessions(vec![ann.clone()])),
        (&ann, pending_sign_in(&ann)),
    ] {
        assert_not_found(set_password(store, by, user, "new").await);
    }
    assert_eq!(hash(store, "ann").await, "hash");
    let mut last = 0;
    for by_owner in [true, false, false] {
        let by = if by_owner {
            as_owner(&seen_at(last, &ann))
        } else {
            as_admin(&admin)
        };
        let changed = set_password(store, by.clone(), &ann, "new").await;
        let changed = changed.expect("allowed");
        let tokens_not_before = changed.tokens_not_before;
        assert!(tokens_not_before > last);
        last = tokens_not_before;
        assert_eq!(
            changed,
            User {
                tokens_not_before,
                ..ann.clone()
            },
            "{by:?}"
        );
        assert_eq!(get(store, ann.id).await, Some(changed));
    }
    assert_eq!(hash(store, "ann").await, "new");
    assert_eq!(hash(store, "admin").await, "hash");
}

fn pending_sign_in(user: &User) -> Principal {
    Principal::PendingSignIn {
        tokens_not_before: user.tokens_not_before,
        digest: "digest".to_owned(),
    }
}

pub(super) async fn set_password_advances_tokens_not_before(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let began = store.users_by_id(&[], &[]).await.expect("read").at;
    let set = async || {
        let set = set_password(store, Principal::Operator, &ann, "new").await;
        set.expect("set")
    };
    let first = set().await;
    assert_revoked_since(store, began, &first).await;
    assert!(set().await.tokens_not_before > first.tokens_not_before);
}

pub(super) async fn replace_password_compares_the_old_hash(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let replace = async |id, old: &str| {
        store
            .replace_password(id, &old.into(), "rehashed".into())
            .await
            .expect("an answer")
    };
    assert!(!replace(ann.id, "other").await);
    assert!(!replace(999, "hash").await);
    assert!(replace(ann.id, "hash").await);
    assert!(!replace(ann.id, "hash").await);
    assert_eq!(hash(store, "ann").await, "rehashed");
    assert_eq!(
        get(store, ann.id).await,
        Some(ann),
        "the password is the same: tokens stay valid"
    );
}
