//! Tests changes of passwords.

use super::{assert_not_found, get, hash, insert, revoked_tokens::assert_revoked_since};
use crate::{
    audit::Write,
    store::{UserStore, Writer},
    user::User,
};
use rolegate_proto::Role;

pub(super) async fn set_password_requires_what_its_writer_saw(store: &dyn UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let set = async |id, writer| {
        store
            .set_password(id, "new".into(), writer, Write::any())
            .await
    };
    for (id, writer) in [
        // The first writer is not an admin, the second does not exist, and the third has a `tokens_not_before` that the
        // user does not have.
        (ann.id, Writer::Admin(ann.id)),
        (ann.id, Writer::Admin(999)),
        (
            ann.id,
            Writer::Owner {
                tokens_not_before: 1,
                session_id: None,
            },
        ),
        (999, Writer::Admin(admin.id)),
        (999, Writer::Operator),
    ] {
        assert_not_found(set(id, writer).await);
    }
    assert_eq!(hash(store, "ann").await, "hash");
    let mut last = 0;
    for by_owner in [true, false, false] {
        let owner = Writer::Owner {
            tokens_not_before: last,
            session_id: None,
        };
        let writer = if by_owner {
            owner
        } else {
            Writer::Admin(admin.id)
        };
        let changed = set(ann.id, writer.clone()).await.expect("allowed");
        let tokens_not_before = changed.tokens_not_before;
        assert!(tokens_not_before > last);
        last = tokens_not_before;
        assert_eq!(
            changed,
            User {
                tokens_not_before,
                ..ann.clone()
            },
            "{writer:?}"
        );
        assert_eq!(get(store, ann.id).await, Some(changed));
    }
    assert_eq!(hash(store, "ann").await, "new");
    assert_eq!(hash(store, "admin").await, "hash");
}

pub(super) async fn set_password_advances_tokens_not_before(store: &dyn UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let began = store.users_by_id(&[]).await.expect("read").at;
    let set = async || {
        let set = store
            .set_password(ann.id, "new".into(), Writer::Operator, Write::any())
            .await;
        set.expect("set")
    };
    let first = set().await;
    assert_revoked_since(store, began, &first).await;
    assert!(set().await.tokens_not_before > first.tokens_not_before);
}

pub(super) async fn replace_password_compares_the_old_hash(store: &dyn UserStore) {
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
