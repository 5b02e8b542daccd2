//! Tests API keys.

use super::{
    assert_not_found,
    changes::{
        as_admin, as_owner, delete, delete_tokens, disable, insert_token, revoke_tokens,
        set_password, set_role, stranger,
    },
    get, insert, names,
};
use crate::{
    change::TokenSelection,
    principal::Principal,
    store::{RoleFilter, UserFilter, WriteError, user_store::UserStore},
    tokens::{NewToken, OpaqueToken, TokenBounds, TokenDetails, TokenKind},
    user::User,
};
use rolegate_proto::Role;
use tokio::join;

const KEY: TokenKind = TokenKind::ApiKey;
const ALL: TokenSelection = TokenSelection::All;

fn new_key(user: &User, digest: &str) -> NewToken {
    let mut new = NewToken::key(user.id, digest);
    new.stored.name = "export".to_owned();
    new.stored.prefix = "rgk_abcd".to_owned();
    new
}

fn with_role(role: Option<Role>) -> TokenDetails {
    TokenDetails::ApiKey {
        role,
        groups: None,
        created_by: None,
    }
}

async fn add(store: &UserStore, user: &User, digest: &str) -> OpaqueToken {
    insert_token(store, Principal::Operator, new_key(user, digest))
        .await
        .expect("inserted")
}

async fn ids(store: &UserStore, user: &User) -> Vec<i64> {
    let keys = store
        .tokens_of_user(KEY, user.id)
        .await
        .expect("read")
        .value;
    keys.into_iter().map(|key| key.id).collect()
}

pub(super) async fn keys_are_found_by_digest_with_their_users(store: &UserStore) {
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let bob = insert(store, "bob", Role::USER).await;
    let (role, expires_at) = (Some(Role::AUTHOR), Some(9));
    let mut new = new_key(&ann, "one");
    new.stored.details = with_role(role);
    new.stored.expires_at = expires_at;
    let one = insert_token(store, Principal::Operator, new)
        .await
        .expect("inserted");
    let expected = OpaqueToken {
        id: one.id,
        user_id: ann.id,
        name: "export".to_owned(),
        prefix: "rgk_abcd".to_owned(),
        created_at: 7,
        expires_at,
        last_used_at: None,
        details: with_role(role),
    };
    assert_eq!(one, expected);
    let two = add(store, &bob, "two").await;
    assert!(two.id > one.id);
    let digests = ["two", "none", "one", ""].map(str::to_owned);
    let mut found = store
        .tokens_by_digest(&digests, &[])
        .await
        .expect("read")
        .value;
    found.sort_by_key(|key| key.token_id);
    let [first, second] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (&*first.digest, first.token_id, &first.user),
        ("one", one.id, &ann)
    );
    let bounds = |role| TokenBounds::ApiKey { role, groups: None };
    assert_eq!(
        (first.bounds.clone(), first.expires_at),
        (bounds(role), expires_at)
    );
    assert_eq!((second.token_id, &second.user), (two.id, &bob));
    assert_eq!(
        (second.bounds.clone(), second.expires_at),
        (bounds(None), None)
    );
    assert_eq!(
        store.tokens_of_user(KEY, ann.id).await.expect("read").value,
        [one]
    );
    assert_eq!(
        store.tokens_by_digest(&[], &[]).await.expect("read").value,
        []
    );
}

pub(super) async fn a_user_has_exactly_fifty_keys_at_most_when_many_are_made_at_once(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    for index in 0..50 {
        add(store, &ann, &format!("key {index}")).await;
    }
    // In each round, several inserts compete for the last key that the limit allows. Without a lock, more than one
    // insert would count 49 keys and succeed.
    for round in 0..20 {
        let oldest = TokenSelection::One(ids(store, &ann).await[0]);
        delete_tokens(store, as_owner(&ann), KEY, &ann, oldest)
            .await
            .expect("deleted");
        let new = |number| new_key(&ann, &format!("{round} {number}"));
        let rival = |number| insert_token(store, Principal::Operator, new(number));
        let inserted: [_; 4] = join!(rival(0), rival(1), rival(2), rival(3)).into();
        for error in inserted.iter().filter_map(|outcome| outcome.as_ref().err()) {
            assert!(matches!(error, WriteError::ApiKeyLimit), "{error:?}");
        }
        let successes = inserted.iter().flatten().count();
        assert_eq!(
            (successes, ids(store, &ann).await.len()),
            (1, 50),
            "round {round}"
        );
    }
    let bob = insert(store, "bob", Role::USER).await;
    add(store, &bob, "of another user").await;
}

pub(super) async fn keys_are_of_users_who_exist_and_are_not_disabled(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let key = add(store, &ann, "one").await;
    disable(store, Principal::Operator, &ann)
        .await
        .expect("disabled");
    for user in [&ann, &stranger(&ann)] {
        let two = new_key(user, "two");
        assert_not_found(insert_token(store, Principal::Operator, two).await);
    }
    let found = store
        .tokens_by_digest(&["one".to_owned()], &[])
        .await
        .expect("read")
        .value;
    assert!(
        found.len() == 1 && found[0].user.disabled,
        "the use case refuses it"
    );
    delete(store, Principal::Operator, &ann)
        .await
        .expect("deleted");
    assert_eq!(
        store
            .tokens_by_digest(&["one".to_owned()], &[])
            .await
            .expect("read")
            .value,
        []
    );
    assert!(ids(store, &ann).await.is_empty());
    let bob = insert(store, "bob", Role::USER).await;
    assert!(
        add(store, &bob, "one").await.id > key.id,
        "ids are never reused"
    );
}

/// A key is not inserted if its creator has logged out, has a new password or was disabled since the creator's token
/// was verified.
pub(super) async fn a_key_is_made_only_while_the_tokens_are_those_that_were_seen(
    store: &UserStore,
) {
    let mut ann = insert(store, "ann", Role::USER).await;
    for (round, change) in ["logout", "password", "disabled"].into_iter().enumerate() {
        let owner = || as_owner(&ann);
        let made = insert_token(store, owner(), new_key(&ann, change))
            .await
            .expect("unchanged");
        let changed = match change {
            "logout" => revoke_tokens(store, owner(), &ann).await,
            "password" => set_password(store, owner(), &ann, "new").await,
            _ => disable(store, Principal::Operator, &ann).await,
        };
        assert_not_found(insert_token(store, owner(), new_key(&ann, "late")).await);
        assert_eq!(ids(store, &ann).await.len(), round + 1, "{change}");
        assert!(ids(store, &ann).await.contains(&made.id), "keys stay");
        ann = changed.expect("changed");
    }
    assert!(get(store, ann.id).await.expect("a user").disabled);
    assert_not_found(insert_token(store, as_owner(&ann), new_key(&ann, "late")).await);
}

pub(super) async fn deleting_keys_requires_an_admin_or_their_user(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let keys = [add(store, &ann, "one").await, add(store, &ann, "two").await];
    let own = add(store, &admin, "three").await;
    let delete = async |by, user: &User, key: Option<i64>| {
        let selection = key.map_or(ALL, TokenSelection::One);
        delete_tokens(store, by, KEY, user, selection).await
    };
    let refused = delete(as_admin(&ann), &admin, None).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let refused = delete(as_admin(&stranger(&admin)), &ann, None).await;
    assert!(
        matches!(refused, Err(WriteError::ActorNotFound)),
        "{refused:?}"
    );
    assert_not_found(delete(as_admin(&admin), &stranger(&ann), None).await);
    // A key belongs to one user, and cannot be deleted as the key of another.
    for (by, key) in [
        (as_owner(&ann), own.id),
        (as_admin(&admin), own.id),
        (as_owner(&ann), 999),
    ] {
        assert_eq!(delete(by, &ann, Some(key)).await.expect("allowed"), []);
    }
    assert_eq!(ids(store, &ann).await, [keys[0].id, keys[1].id]);
    let first = delete(as_admin(&admin), &ann, Some(keys[0].id)).await;
    assert_eq!(first.expect("allowed"), keys[..1]);
    let delete_own = async || delete(as_owner(&ann), &ann, None).await.expect("allowed");
    assert_eq!(delete_own().await, keys[1..]);
    assert_eq!(delete_own().await, []);
    assert_eq!(ids(store, &admin).await, [own.id]);
}

pub(super) async fn roles_in_use_are_those_of_users_and_keys(store: &UserStore) {
    assert_eq!(store.roles_in_use().await.expect("read"), []);
    let ann = insert(store, "ann", Role::AUTHOR).await;
    insert(store, "bob", Role::USER).await;
    insert(store, "carl", Role::USER).await;
    for (digest, role) in [
        ("one", None),
        ("two", Some(Role::AUTHOR)),
        ("three", Some(Role::ADMIN)),
        ("four", None),
    ] {
        let mut new = new_key(&ann, digest);
        new.stored.details = with_role(role);
        insert_token(store, Principal::Operator, new)
            .await
            .expect("inserted");
    }
    let used = store.roles_in_use().await.expect("read");
    let sum = |role: &str| {
        let of_role = used.iter().filter(|it| it.role == role);
        of_role.fold((0, 0), |sum, it| (sum.0 + it.users, sum.1 + it.api_keys))
    };
    assert_eq!(
        [sum("user"), sum("author"), sum("admin")],
        [(2, 0), (1, 1), (0, 1)]
    );
    assert!(used.is_sorted_by_key(|it| &it.role), "{used:?}");
}

pub(super) async fn admins_make_keys_of_users_who_are_no_admins(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let other = insert(store, "other", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::USER).await;
    let create = async |by: &User, user: &User, digest: &str| {
        let mut new = new_key(user, digest);
        new.stored.details = TokenDetails::ApiKey {
            role: None,
            groups: None,
            created_by: Some("admin".to_owned()),
        };
        insert_token(store, as_admin(by), new).await
    };
    let made = create(&admin, &ann, "one").await.expect("allowed");
    assert_eq!(made.created_by(), Some("admin"));
    assert_eq!(
        store.tokens_of_user(KEY, ann.id).await.expect("read").value,
        [made]
    );
    for user in [&admin, &other] {
        let refused = create(&admin, user, "two").await;
        assert!(
            matches!(refused, Err(WriteError::UserIsAdmin)),
            "{refused:?}"
        );
    }
    let refused = create(&ann, &ann, "two").await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    assert_not_found(create(&admin, &stranger(&ann), "two").await);
    disable(store, Principal::Operator, &other)
        .await
        .expect("disabled");
    for by in [&other, &stranger(&other)] {
        let refused = create(by, &ann, "two").await;
        assert!(
            matches!(refused, Err(WriteError::ActorNotFound)),
            "{refused:?}"
        );
    }
    for index in 1..50 {
        create(&admin, &ann, &format!("key {index}"))
            .await
            .expect("made");
    }
    let refused = create(&admin, &ann, "two").await;
    assert!(
        matches!(refused, Err(WriteError::ApiKeyLimit)),
        "{refused:?}"
    );
}

pub(super) async fn extra_roles_are_stored_in_users_and_keys(store: &UserStore) {
    let [editor, longest] =
        ["editor", "a_2345678901234567890123456789-z"].map(|role| role.parse().expect("a role"));
    let ann = insert(store, "ann", longest).await;
    assert_eq!(get(store, ann.id).await.map(|ann| ann.role), Some(longest));
    let mut key = new_key(&ann, "one");
    key.stored.details = with_role(Some(longest));
    insert_token(store, Principal::Operator, key)
        .await
        .expect("inserted");
    let ann = set_role(store, Principal::Operator, &ann, editor)
        .await
        .expect("set");
    let found = store
        .tokens_by_digest(&["one".to_owned()], &[])
        .await
        .expect("read")
        .value;
    let role = Some(longest);
    assert_eq!(found[0].bounds, TokenBounds::ApiKey { role, groups: None });
    assert_eq!(found[0].user, ann);
    let of_role = |role| UserFilter {
        limit: 9,
        role: Some(RoleFilter::User(role)),
        ..UserFilter::default()
    };
    assert_eq!(names(store, &of_role(editor)).await, ["ann"]);
    assert!(names(store, &of_role(longest)).await.is_empty());
}
