//! Tests API keys.

use super::{assert_not_found, get, insert, names};
use crate::{
    audit::Write,
    opaque_token::{NewToken, OpaqueToken, TokenKind},
    store::{TokenSelection, UserFilter, UserStore, WriteError, Writer},
    user::User,
};
use rolegate_proto::{Role, limits::API_KEY_PREFIX};
use tokio::join;

const KEY: TokenKind = TokenKind::ApiKey;
const ALL: TokenSelection = TokenSelection::All;

fn new_key(user: &User, digest: &str) -> NewToken {
    let mut new =
        NewToken::generate(API_KEY_PREFIX, user.id, "export".to_owned(), 7).expect("randomness");
    new.stored.prefix = "rgk_abcd".to_owned();
    NewToken {
        digest: digest.to_owned(),
        ..new
    }
}

async fn add(store: &dyn UserStore, user: &User, digest: &str) -> OpaqueToken {
    store
        .insert_token(new_key(user, digest), Writer::Operator, Write::any())
        .await
        .expect("inserted")
}

async fn ids(store: &dyn UserStore, user: &User) -> Vec<i64> {
    let keys = store
        .tokens_of_user(KEY, user.id)
        .await
        .expect("read")
        .value;
    keys.into_iter().map(|key| key.id).collect()
}

pub(super) async fn keys_are_found_by_digest_with_their_users(store: &dyn UserStore) {
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let bob = insert(store, "bob", Role::USER).await;
    let (role, expires_at) = (Some(Role::AUTHOR), Some(9));
    let mut new = new_key(&ann, "one");
    (new.stored.role, new.stored.expires_at) = (role, expires_at);
    let one = store
        .insert_token(new, Writer::Operator, Write::any())
        .await
        .expect("inserted");
    let expected = OpaqueToken {
        id: one.id,
        user_id: ann.id,
        name: "export".to_owned(),
        prefix: "rgk_abcd".to_owned(),
        role,
        created_at: 7,
        expires_at,
        last_used_at: None,
        not_before: None,
        client_address: None,
        user_agent: None,
        created_by: None,
        cookie_only: false,
        pair_id: None,
    };
    assert_eq!(one, expected);
    let two = add(store, &bob, "two").await;
    assert!(two.id > one.id);
    let digests = ["two", "none", "one", ""].map(str::to_owned);
    let mut found = store.tokens_by_digest(&digests).await.expect("read").value;
    found.sort_by_key(|key| key.token_id);
    let [first, second] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (&*first.digest, first.token_id, &first.user),
        ("one", one.id, &ann)
    );
    assert_eq!((first.role, first.expires_at), (role, expires_at));
    assert_eq!((second.token_id, &second.user), (two.id, &bob));
    assert_eq!((second.role, second.expires_at), (None, None));
    assert_eq!(
        store.tokens_of_user(KEY, ann.id).await.expect("read").value,
        [one]
    );
    assert_eq!(store.tokens_by_digest(&[]).await.expect("read").value, []);
}

pub(super) async fn a_user_has_exactly_fifty_keys_at_most_when_many_are_made_at_once(
    store: &dyn UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    for index in 0..50 {
        add(store, &ann, &format!("key {index}")).await;
    }
    // In each round, several inserts compete for the last key that the limit allows. Without a lock, more than one
    // insert would count 49 keys and succeed.
    for round in 0..20 {
        let oldest = ids(store, &ann).await[0];
        store
            .delete_tokens(KEY, None, ann.id, TokenSelection::One(oldest), Write::any())
            .await
            .expect("deleted");
        let new = |number| new_key(&ann, &format!("{round} {number}"));
        let rival = |number| store.insert_token(new(number), Writer::Operator, Write::any());
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

pub(super) async fn keys_are_of_users_who_exist_and_are_not_disabled(store: &dyn UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let key = add(store, &ann, "one").await;
    store
        .set_disabled(None, ann.id, true, Write::any())
        .await
        .expect("disabled");
    let stranger = User {
        id: 999,
        ..ann.clone()
    };
    for user in [&ann, &stranger] {
        assert_not_found(
            store
                .insert_token(new_key(user, "two"), Writer::Operator, Write::any())
                .await,
        );
    }
    let found = store
        .tokens_by_digest(&["one".to_owned()])
        .await
        .expect("read")
        .value;
    assert!(
        found.len() == 1 && found[0].user.disabled,
        "the use case refuses it"
    );
    store
        .delete(None, ann.id, Write::any())
        .await
        .expect("deleted");
    assert_eq!(
        store
            .tokens_by_digest(&["one".to_owned()])
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
    store: &dyn UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    let mut seen = ann.tokens_not_before;
    for (round, change) in ["logout", "password", "disabled"].into_iter().enumerate() {
        let owner = || Writer::Owner {
            tokens_not_before: seen,
            session_id: None,
        };
        let made = store
            .insert_token(new_key(&ann, change), owner(), Write::any())
            .await
            .expect("unchanged");
        let changed = match change {
            "logout" => store.revoke_tokens(ann.id, owner(), Write::any()).await,
            "password" => {
                store
                    .set_password(ann.id, "new".into(), owner(), Write::any())
                    .await
            }
            _ => store.set_disabled(None, ann.id, true, Write::any()).await,
        };
        assert_not_found(
            store
                .insert_token(new_key(&ann, "late"), owner(), Write::any())
                .await,
        );
        assert_eq!(ids(store, &ann).await.len(), round + 1, "{change}");
        assert!(ids(store, &ann).await.contains(&made.id), "keys stay");
        seen = changed.expect("changed").tokens_not_before;
    }
    assert!(get(store, ann.id).await.expect("a user").disabled);
    assert_not_found(
        store
            .insert_token(
                new_key(&ann, "late"),
                Writer::Owner {
                    tokens_not_before: seen,
                    session_id: None,
                },
                Write::any(),
            )
            .await,
    );
}

pub(super) async fn deleting_keys_requires_an_admin_or_their_user(store: &dyn UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::AUTHOR).await;
    let keys = [add(store, &ann, "one").await, add(store, &ann, "two").await];
    let own = add(store, &admin, "three").await;
    let delete = async |actor, user, key: Option<i64>| {
        let selection = key.map_or(ALL, TokenSelection::One);
        store
            .delete_tokens(KEY, actor, user, selection, Write::any())
            .await
    };
    let refused = delete(Some(ann.id), admin.id, None).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let refused = delete(Some(999), ann.id, None).await;
    assert!(
        matches!(refused, Err(WriteError::ActorNotFound)),
        "{refused:?}"
    );
    assert_not_found(delete(Some(admin.id), 999, None).await);
    // A key belongs to one user, and cannot be deleted as the key of another.
    for (actor, user, key) in [
        (None, ann.id, own.id),
        (Some(admin.id), ann.id, own.id),
        (None, ann.id, 999),
    ] {
        assert_eq!(delete(actor, user, Some(key)).await.expect("allowed"), []);
    }
    assert_eq!(ids(store, &ann).await, [keys[0].id, keys[1].id]);
    let first = delete(Some(admin.id), ann.id, Some(keys[0].id))
        .await
        .expect("allowed");
    assert_eq!(first, keys[..1]);
    assert_eq!(
        delete(None, ann.id, None).await.expect("allowed"),
        keys[1..]
    );
    assert_eq!(delete(None, ann.id, None).await.expect("allowed"), []);
    assert_eq!(ids(store, &admin).await, [own.id]);
}

pub(super) async fn roles_in_use_are_those_of_users_and_keys(store: &dyn UserStore) {
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
        new.stored.role = role;
        store
            .insert_token(new, Writer::Operator, Write::any())
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

pub(super) async fn admins_make_keys_of_users_who_are_no_admins(store: &dyn UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let other = insert(store, "other", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::USER).await;
    let create = async |actor, user: &User, digest: &str| {
        let mut new = new_key(user, digest);
        new.stored.created_by = Some("admin".to_owned());
        store
            .insert_token(new, Writer::Admin(actor), Write::any())
            .await
    };
    let made = create(admin.id, &ann, "one").await.expect("allowed");
    assert_eq!(made.created_by.as_deref(), Some("admin"));
    assert_eq!(
        store.tokens_of_user(KEY, ann.id).await.expect("read").value,
        [made]
    );
    for user in [&admin, &other] {
        let refused = create(admin.id, user, "two").await;
        assert!(
            matches!(refused, Err(WriteError::UserIsAdmin)),
            "{refused:?}"
        );
    }
    let refused = create(ann.id, &ann, "two").await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    assert_not_found(
        create(
            admin.id,
            &User {
                id: 999,
                ..ann.clone()
            },
            "two",
        )
        .await,
    );
    store
        .set_disabled(None, other.id, true, Write::any())
        .await
        .expect("disabled");
    for actor in [other.id, 999] {
        let refused = create(actor, &ann, "two").await;
        assert!(
            matches!(refused, Err(WriteError::ActorNotFound)),
            "{refused:?}"
        );
    }
    for index in 1..50 {
        create(admin.id, &ann, &format!("key {index}"))
            .await
            .expect("made");
    }
    let refused = create(admin.id, &ann, "two").await;
    assert!(
        matches!(refused, Err(WriteError::ApiKeyLimit)),
        "{refused:?}"
    );
}

pub(super) async fn extra_roles_are_stored_in_users_and_keys(store: &dyn UserStore) {
    let [editor, longest] =
        ["editor", "a_2345678901234567890123456789-z"].map(|role| role.parse().expect("a role"));
    let ann = insert(store, "ann", longest).await;
    assert_eq!(get(store, ann.id).await.map(|ann| ann.role), Some(longest));
    let mut key = new_key(&ann, "one");
    key.stored.role = Some(longest);
    store
        .insert_token(key, Writer::Operator, Write::any())
        .await
        .expect("inserted");
    let ann = store
        .set_role(None, ann.id, editor, Write::any())
        .await
        .expect("set");
    let found = store
        .tokens_by_digest(&["one".to_owned()])
        .await
        .expect("read")
        .value;
    assert_eq!((found[0].role, &found[0].user), (Some(longest), &ann));
    let of_role = |role| UserFilter {
        limit: 9,
        role: Some(role),
        ..UserFilter::default()
    };
    assert_eq!(names(store, &of_role(editor)).await, ["ann"]);
    assert!(names(store, &of_role(longest)).await.is_empty());
}
