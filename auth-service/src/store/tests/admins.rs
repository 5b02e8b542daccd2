//! Tests writes on behalf of admins, and that the last admin stays.

use super::{
    assert_not_found,
    changes::{
        as_admin, as_owner, change, create, delete, disable, enable, new_user, set_password,
        set_role, stranger,
    },
    get, insert,
    revoked_tokens::assert_revoked_since,
};
use crate::{
    change::Change,
    principal::Principal,
    store::{WriteError, user_store::UserStore},
    tokens::NewPasswordLink,
    user::User,
};
use rolegate_proto::Role;
use tokio::join;

pub(super) async fn one_of_two_admins_who_leave_at_the_same_time_stays(store: &UserStore) {
    for round in 0..20 {
        let ann = insert(store, &format!("ann {round}"), Role::ADMIN).await;
        let bob = insert(store, &format!("bob {round}"), Role::ADMIN).await;
        let demote = set_role(store, as_admin(&ann), &ann, Role::USER);
        let results: [_; 2] = if round % 2 == 0 {
            join!(demote, set_role(store, as_admin(&bob), &bob, Role::AUTHOR)).into()
        } else {
            join!(demote, disable(store, as_admin(&bob), &bob)).into()
        };
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        let last = results
            .iter()
            .filter(|result| matches!(result, Err(WriteError::LastAdmin)));
        assert_eq!(last.count(), 1, "{results:?}");
        for user in [&ann, &bob] {
            delete(store, Principal::Operator, user)
                .await
                .expect("the operator may");
        }
    }
}

/// Only an admin and the operator make these changes. The store refuses anyone else, whatever the user is.
pub(super) async fn who_has_no_condition_cannot_act_like_the_operator(store: &UserStore) {
    let ann = insert(store, "ann", Role::ADMIN).await;
    let bob = insert(store, "bob", Role::USER).await;
    let link = || NewPasswordLink::with_digest("digest", u64::from(u32::MAX));
    for by in [
        Principal::Claimant,
        Principal::Sessions(vec![ann.clone()]),
        Principal::Link {
            digest: "digest".to_owned(),
        },
        Principal::PendingSignIn {
            tokens_not_before: bob.tokens_not_before,
            digest: "digest".to_owned(),
        },
        as_owner(&bob),
    ] {
        let user_id = bob.id;
        assert_not_found(set_role(store, by.clone(), &bob, Role::ADMIN).await);
        assert_not_found(disable(store, by.clone(), &bob).await);
        assert_not_found(delete(store, by.clone(), &bob).await);
        let create = Change::CreatePasswordLink {
            user_id,
            link: link(),
        };
        assert_not_found(change(store, by, create).await);
    }
    let others = Change::RevokeTokens { user_id: ann.id };
    assert_not_found(change(store, as_owner(&bob), others).await);
    assert_eq!(get(store, bob.id).await, Some(bob));
}

pub(super) async fn insert_for_an_actor_requires_an_admin(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let add = async |by: &User, username: &str| {
        create(store, as_admin(by), new_user(username, Role::ADMIN)).await
    };
    let refused = add(&stranger(&admin), "bob").await;
    assert!(
        matches!(refused, Err(WriteError::ActorNotFound)),
        "{refused:?}"
    );
    let refused = add(&ann, "bob").await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let taken = add(&admin, "ann").await;
    assert!(matches!(taken, Err(WriteError::UsernameTaken)), "{taken:?}");
    let bob = add(&admin, "bob").await.expect("allowed");
    assert_eq!(
        (&*bob.username, bob.role, bob.disabled),
        ("bob", Role::ADMIN, false)
    );
    assert_eq!(get(store, bob.id).await, Some(bob));
}

pub(super) async fn set_disabled_requires_an_admin_and_revokes_tokens(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let refused = disable(store, as_admin(&ann), &admin).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    assert_not_found(disable(store, as_admin(&admin), &stranger(&ann)).await);
    let began = store.users_by_id(&[], &[]).await.expect("read").at;
    let first = disable(store, as_admin(&admin), &ann)
        .await
        .expect("allowed");
    assert_revoked_since(store, began, &first).await;
    let mut last = 0;
    for disabled in [true, false, true, true] {
        let changed = if disabled {
            disable(store, as_admin(&admin), &ann).await
        } else {
            enable(store, as_admin(&admin), &ann).await
        };
        let changed = changed.expect("allowed");
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
            .credentials_by_username(&["ann".into()], &[])
            .await
            .expect("read")
            .value
            .pop();
        assert_eq!(found.map(|row| row.user), changed);
    }
}

pub(super) async fn disabled_admin_may_not_write_and_is_no_admin_who_is_left(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::ADMIN).await;
    disable(store, as_admin(&admin), &ann)
        .await
        .expect("allowed");
    let refused = set_role(store, as_admin(&ann), &admin, Role::USER).await;
    assert!(
        matches!(refused, Err(WriteError::ActorNotFound)),
        "{refused:?}"
    );
    assert_not_found(set_password(store, as_admin(&ann), &admin, "new").await);
    let last = disable(store, as_admin(&admin), &admin).await;
    assert!(matches!(last, Err(WriteError::LastAdmin)), "{last:?}");
    let demoted = set_role(store, as_admin(&admin), &ann, Role::USER).await;
    demoted.expect("she was none who counts");
    disable(store, Principal::Operator, &admin)
        .await
        .expect("the operator may");
}
