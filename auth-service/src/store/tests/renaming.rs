//! Tests renaming users.

use super::{
    assert_not_found,
    changes::{self, as_admin, insert_token, rename_and_set_disabled, revoke_tokens, stranger},
    get, insert,
    sessions::{add, find, new, session},
};
use crate::{
    principal::Principal,
    store::{WriteError, user_store::UserStore},
    tokens::{TokenDetails, TokenKind},
    user::User,
};
use rolegate_proto::Role;
use tokio::join;

async fn rename(store: &UserStore, user: &User, name: &str) -> Result<User, WriteError> {
    changes::rename(store, Principal::Operator, user, name).await
}

pub(super) async fn a_renamed_user_keeps_good_sessions_and_keys_and_no_access_token(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::AUTHOR).await;
    session(store, &ann, "good").await;
    let mut ended = new(TokenKind::Session, &ann, "ended");
    ended.session_mut().not_before = ann.tokens_not_before + 1;
    let added = insert_token(store, Principal::Operator, ended);
    added.await.expect("inserted");
    add(store, TokenKind::ApiKey, &ann, "key").await;
    let renamed = rename(store, &ann, "eve").await.expect("renamed");
    assert!(renamed.tokens_not_before > ann.tokens_not_before);
    let expected = User {
        username: "eve".to_owned(),
        tokens_not_before: renamed.tokens_not_before,
        ..ann.clone()
    };
    assert_eq!(renamed, expected);
    assert_eq!(get(store, ann.id).await, Some(expected));
    for (digest, is_good) in [("good", true), ("key", true), ("ended", false)] {
        let found = find(store, digest).await.expect("stored");
        assert_eq!(found.is_active_at(8), is_good, "{digest}");
        assert_eq!(found.user.username, "eve");
    }
    // The old name is free again. A new user of that name inherits nothing from the renamed one.
    let other = insert(store, "ann", Role::USER).await;
    assert_ne!(other.id, ann.id);
}

pub(super) async fn a_name_is_taken_by_one_of_those_who_want_it(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let bob = insert(store, "bob", Role::USER).await;
    let taken = rename(store, &ann, "bob").await;
    assert!(matches!(taken, Err(WriteError::UsernameTaken)), "{taken:?}");
    assert_eq!(get(store, ann.id).await, Some(ann.clone()), "all is undone");
    let outcomes = join!(rename(store, &ann, "eve"), rename(store, &bob, "eve"));
    let is_taken = |outcome: &Result<User, WriteError>| match outcome {
        Ok(_) => false,
        Err(WriteError::UsernameTaken) => true,
        other => panic!("{other:?}"),
    };
    assert_ne!(is_taken(&outcomes.0), is_taken(&outcomes.1), "{outcomes:?}");
}

pub(super) async fn a_user_who_has_changed_since_they_were_read_is_not_renamed(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let renamed = rename(store, &ann, "eve").await.expect("renamed");
    assert_not_found(rename(store, &ann, "carl").await);
    let old_name = User {
        username: "ann".to_owned(),
        ..renamed.clone()
    };
    assert_not_found(rename(store, &old_name, "carl").await);
    let revoked = revoke_tokens(store, Principal::Operator, &ann);
    let revoked = revoked.await.expect("revoked");
    assert_not_found(rename(store, &renamed, "carl").await);
    rename(store, &revoked, "carl").await.expect("as it is now");
    assert_not_found(rename(store, &stranger(&ann), "dan").await);
}

pub(super) async fn only_an_admin_renames_and_both_changes_are_made_or_neither(store: &UserStore) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::USER).await;
    session(store, &ann, "one").await;
    let refused = changes::rename(store, as_admin(&ann), &admin, "x").await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let refused = rename_and_set_disabled(store, as_admin(&admin), &admin, "x", Some(true)).await;
    assert!(matches!(refused, Err(WriteError::LastAdmin)), "{refused:?}");
    assert_eq!(get(store, admin.id).await, Some(admin.clone()));
    let changed = rename_and_set_disabled(store, as_admin(&admin), &ann, "eve", Some(true))
        .await
        .expect("changed");
    assert_eq!((&*changed.username, changed.disabled), ("eve", true));
    assert_eq!(find(store, "one").await, None, "the session has ended");
}

pub(super) async fn a_renaming_is_recorded_with_both_names_beside_a_second_change(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    let name = "o\"neil é";
    rename_and_set_disabled(store, Principal::Operator, &ann, name, Some(true))
        .await
        .expect("changed");
    let rows = super::audit::record(store).await;
    let [_, renamed, disabled] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(
        [&*renamed.event, &disabled.event],
        ["user_renamed", "user_disabled"]
    );
    let details: serde_json::Value =
        serde_json::from_str(&renamed.readable_details()).expect("JSON");
    let names = serde_json::json!({ "by": "operator", "from": "ann", "to": "o\"neil é" });
    assert_eq!(details, names);
    assert!(
        !renamed.details.contains("ann"),
        "what is sealed has no name"
    );
    assert_eq!(renamed.check_former_username(), Ok(()));
    assert_eq!(disabled.former_username, None);
    let changes = super::audit::changes(store, 1).await;
    let names: Vec<_> = changes.iter().map(|change| &*change.username).collect();
    assert_eq!(names, ["o\"neil é"; 2], "other services learn of it");
}

pub(super) async fn keys_that_a_renamed_admin_made_have_the_new_name(store: &UserStore) {
    let ann = insert(store, "ann", Role::ADMIN).await;
    let bob = insert(store, "bob", Role::USER).await;
    let made_at = ann.created_at.expect("kept");
    for (digest, created_at, by) in [
        ("hers", made_at, "ann"),
        ("of somebody before her", made_at - 1, "ann"),
        ("of another", made_at, "carl"),
    ] {
        let mut key = new(TokenKind::ApiKey, &bob, digest);
        key.stored.created_at = created_at;
        key.stored.details = TokenDetails::ApiKey {
            role: None,
            groups: None,
            created_by: Some(by.to_owned()),
        };
        let added = insert_token(store, Principal::Operator, key);
        added.await.expect("inserted");
    }
    rename(store, &ann, "eve").await.expect("renamed");
    let keys = store.tokens_of_user(TokenKind::ApiKey, bob.id).await;
    let made_by: Vec<_> = keys
        .expect("read")
        .value
        .into_iter()
        .filter_map(|key| key.created_by().map(str::to_owned))
        .collect();
    assert_eq!(made_by, ["eve", "ann", "carl"]);
}
