//! Tests writes on behalf of admins, and that the last admin stays.

use super::{assert_not_found, get, insert, revoked_tokens::assert_revoked_since};
use crate::{
    audit::Write,
    store::{NewUser, UserStore, WriteError, Writer},
    user::User,
};
use rolegate_proto::Role;
use tokio::join;

pub(super) async fn one_of_two_admins_who_leave_at_the_same_time_stays(store: &dyn UserStore) {
    for round in 0..20 {
        let ann = insert(store, &format!("ann {round}"), Role::ADMIN).await.id;
        let bob = insert(store, &format!("bob {round}"), Role::ADMIN).await.id;
        let demote = store.set_role(Some(ann), ann, Role::USER, Write::any());
        let results: [_; 2] = if round % 2 == 0 {
            join!(
                demote,
                store.set_role(Some(bob), bob, Role::AUTHOR, Write::any())
            )
            .into()
        } else {
            join!(
                demote,
                store.set_disabled(Some(bob), bob, true, Write::any())
            )
            .into()
        };
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        let last = results
            .iter()
            .filter(|result| matches!(result, Err(WriteError::LastAdmin)));
        assert_eq!(last.count(), 1, "{results:?}");
        for id in [ann, bob] {
            store
                .delete(None, id, Write::any())
                .await
                .expect("the operator may");
        }
    }
}

pub(super) async fn insert_for_an_actor_requires_an_admin(store: &dyn UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let add = async |actor, username: &str| {
        let (username, password_hash) = (username.to_owned(), "hash".into());
        store
            .insert(
                Some(actor),
                NewUser {
                    username,
                    password_hash,
                    role: Role::ADMIN,
                    link: None,
                },
                Write::any(),
            )
            .await
    };
    let refused = add(999, "bob").await;
    assert!(
        matches!(refused, Err(WriteError::ActorNotFound)),
        "{refused:?}"
    );
    let refused = add(ann.id, "bob").await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let taken = add(admin.id, "ann").await;
    assert!(matches!(taken, Err(WriteError::UsernameTaken)), "{taken:?}");
    let bob = add(admin.id, "bob").await.expect("allowed");
    assert_eq!(
        (&*bob.username, bob.role, bob.disabled),
        ("bob", Role::ADMIN, false)
    );
    assert_eq!(get(store, bob.id).await, Some(bob));
}

pub(super) async fn set_disabled_requires_an_admin_and_revokes_tokens(store: &dyn UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let set =
        async |actor, id, disabled| store.set_disabled(actor, id, disabled, Write::any()).await;
    let refused = set(Some(ann.id), admin.id, true).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    assert_not_found(set(Some(admin.id), 999, true).await);
    let began = store.users_by_id(&[]).await.expect("read").at;
    let first = set(Some(admin.id), ann.id, true).await.expect("allowed");
    assert_revoked_since(store, began, &first).await;
    let mut last = 0;
    for disabled in [true, false, true, true] {
        let changed = set(Some(admin.id), ann.id, disabled)
            .await
            .expect("allowed");
        let tokens_not_before = changed.tokens_not_before;
        assert_eq!(tokens_not_before > last, disabled);
        last = tokens_not_before;
        assert_eq!(
            changed,
            User {
                tokens_not_before,
                disabled,
                ..ann.clone()
            }
        );
        let changed = Some(changed);
        assert_eq!(get(store, ann.id).await, changed);
        let found = store
            .credentials_by_username(&["ann".into()])
            .await
            .expect("read")
            .value
            .pop();
        assert_eq!(found.map(|row| row.user), changed);
    }
}

pub(super) async fn disabled_admin_may_not_write_and_is_no_admin_who_is_left(
    store: &dyn UserStore,
) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::ADMIN).await;
    store
        .set_disabled(Some(admin.id), ann.id, true, Write::any())
        .await
        .expect("allowed");
    let refused = store
        .set_role(Some(ann.id), admin.id, Role::USER, Write::any())
        .await;
    assert!(
        matches!(refused, Err(WriteError::ActorNotFound)),
        "{refused:?}"
    );
    let by = Writer::Admin(ann.id);
    assert_not_found(
        store
            .set_password(admin.id, "new".into(), by, Write::any())
            .await,
    );
    let last = store
        .set_disabled(Some(admin.id), admin.id, true, Write::any())
        .await;
    assert!(matches!(last, Err(WriteError::LastAdmin)), "{last:?}");
    let demoted = store
        .set_role(Some(admin.id), ann.id, Role::USER, Write::any())
        .await;
    demoted.expect("she was none who counts");
    store
        .set_disabled(None, admin.id, true, Write::any())
        .await
        .expect("the operator may");
}
