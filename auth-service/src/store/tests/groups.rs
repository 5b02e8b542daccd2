//! Tests groups, memberships and their ends, and the ends of accounts.

use super::{
    changes::{as_admin, change, enable, insert_token, set_role},
    get, insert,
    revoked_tokens::assert_revoked_since,
};
use crate::{
    audit::Requested,
    change::{Change, GroupChange, NewEnd, UserUpdate},
    group::{Group, Membership},
    principal::Principal,
    store::{WriteError, user_store::UserStore},
    tokens::{NewToken, OpaqueToken, TokenDetails},
    user::User,
};
use rolegate_proto::{GroupName, Role};
use std::sync::Arc;
use tokio::join;

fn name(text: &str) -> GroupName {
    text.parse().expect("a name")
}

pub(super) async fn change_group(
    store: &UserStore,
    by: Principal,
    change: GroupChange,
) -> Result<Group, WriteError> {
    store
        .change_group(Arc::new(Requested::new(by, change)))
        .await
}

async fn create_group(store: &UserStore, text: &str) -> Group {
    let create = GroupChange::Create { name: name(text) };
    change_group(store, Principal::Operator, create)
        .await
        .expect("created")
}

async fn delete_group(store: &UserStore, by: Principal, id: i64) -> Result<Group, WriteError> {
    change_group(store, by, GroupChange::Delete { group_id: id }).await
}

/// Adds a user to a group until this time.
async fn join_until(
    store: &UserStore,
    user: &User,
    group: &str,
    until: Option<u64>,
) -> Result<User, WriteError> {
    let group = name(group);
    let joined = Change::SetMembership {
        user_id: user.id,
        group,
        from: None,
        to: Some(Membership { group, until }),
    };
    change(store, Principal::Operator, joined).await
}

/// Removes a user from a group.
async fn leave(store: &UserStore, user: &User, group: &str) -> Result<User, WriteError> {
    let left = Change::SetMembership {
        user_id: user.id,
        group: name(group),
        from: None,
        to: None,
    };
    change(store, Principal::Operator, left).await
}

/// Creates an API key of this user that names these groups.
async fn create_key(
    store: &UserStore,
    user: &User,
    groups: &[&str],
) -> Result<OpaqueToken, WriteError> {
    let digest = format!("{} of {}", groups.join(","), user.id);
    let mut new = NewToken::key(user.id, &digest);
    new.stored.details = TokenDetails::ApiKey {
        role: None,
        groups: Some(groups.iter().map(|group| name(group)).collect()),
        created_by: None,
    };
    insert_token(store, Principal::Operator, new).await
}

async fn now(store: &UserStore) -> u64 {
    store.users_by_id(&[], &[]).await.expect("read").at
}

async fn groups_of(store: &UserStore, user: &User) -> Vec<String> {
    get(store, user.id).await.expect("a user").group_names()
}

async fn set_end(
    store: &UserStore,
    by: Principal,
    user: &User,
    to: Option<u64>,
) -> Result<User, WriteError> {
    let user = get(store, user.id).await.expect("a user");
    let end = NewEnd {
        from: user.until,
        has_passed: user.disabled,
        to,
    };
    let update = UserUpdate {
        end: Some(end),
        ..UserUpdate::default()
    };
    let user_id = user.id;
    change(store, by, Change::Update { user_id, update }).await
}

pub(super) async fn a_group_has_one_name_and_an_id_that_is_never_given_out_twice(
    store: &UserStore,
) {
    let admin = insert(store, "ann", Role::ADMIN).await;
    let bob = insert(store, "bob", Role::USER).await;
    let create = |by| {
        change_group(
            store,
            by,
            GroupChange::Create {
                name: name("staff"),
            },
        )
    };
    let refused = create(as_admin(&bob)).await;
    assert!(matches!(refused, Err(WriteError::NotAdmin)), "{refused:?}");
    let (one, other) = join!(create(as_admin(&admin)), create(as_admin(&admin)));
    let refused = [&one, &other].map(|made| matches!(made, Err(WriteError::GroupTaken)));
    assert_eq!(refused.iter().filter(|refused| **refused).count(), 1);
    let staff = one.or(other).expect("one of them");
    let crew = create_group(store, "crew").await;
    assert!(crew.id > staff.id);
    let deleted = delete_group(store, as_admin(&bob), crew.id).await;
    assert!(matches!(deleted, Err(WriteError::NotAdmin)), "{deleted:?}");
    delete_group(store, as_admin(&admin), crew.id)
        .await
        .expect("deleted");
    let missing = delete_group(store, as_admin(&admin), crew.id).await;
    assert!(
        matches!(missing, Err(WriteError::GroupNotFound)),
        "{missing:?}"
    );
    assert!(create_group(store, "crew").await.id > crew.id);
}

pub(super) async fn a_membership_counts_until_its_end_and_in_nothing_afterwards(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let staff = create_group(store, "staff").await;
    create_group(store, "crew").await;
    let later = now(store).await + 3600;
    join_until(store, &ann, "staff", None).await.expect("set");
    join_until(store, &ann, "crew", Some(later))
        .await
        .expect("set");
    let user = get(store, ann.id).await.expect("a user");
    let memberships = [("crew", Some(later)), ("staff", None)].map(|(group, until)| Membership {
        group: name(group),
        until,
    });
    assert_eq!(user.memberships, memberships);
    let members = store.members_after(&staff.name, 0, 10).await.expect("read");
    assert_eq!(members[0].username, "ann");
    // The end of this membership is in the past, as it will be for every membership with an end.
    let past = now(store).await;
    join_until(store, &ann, "staff", Some(past))
        .await
        .expect("set");
    assert_eq!(groups_of(store, &ann).await, ["crew"]);
    assert!(
        store
            .members_after(&staff.name, 0, 10)
            .await
            .expect("read")
            .is_empty()
    );
    assert_eq!(store.groups_of_user(ann.id).await.expect("read").len(), 1);
    let counted = store.group(staff.id).await.expect("read").expect("a group");
    assert_eq!(counted.members, 0);
    let removed = leave(store, &ann, "staff").await;
    assert!(
        matches!(removed, Err(WriteError::MembershipNotFound)),
        "{removed:?}"
    );
    leave(store, &ann, "crew").await.expect("removed");
    assert!(groups_of(store, &ann).await.is_empty());
}

pub(super) async fn a_decision_learns_which_of_the_required_groups_exist(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    create_group(store, "staff").await;
    let required = [name("staff"), name("nobody")];
    let read = store.users_by_id(&[ann.id], &required).await.expect("read");
    assert_eq!(read.value[0].found_groups, [name("staff")]);
    let names = ["ann".to_owned()];
    let read = store.credentials_by_username(&names, &required).await;
    assert_eq!(
        read.expect("read").value[0].user.found_groups,
        [name("staff")]
    );
    assert!(
        get(store, ann.id)
            .await
            .expect("a user")
            .found_groups
            .is_empty()
    );
}

pub(super) async fn a_user_is_in_a_hundred_groups_at_most_when_many_are_set_at_once(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    for number in 0..103 {
        create_group(store, &format!("g{number}")).await;
    }
    for number in 0..98 {
        join_until(store, &ann, &format!("g{number}"), None)
            .await
            .expect("set");
    }
    let past = now(store).await;
    join_until(store, &ann, "g98", Some(past))
        .await
        .expect("set");
    let set = async |number: usize| join_until(store, &ann, &format!("g{number}"), None).await;
    let outcomes = <[_; 4]>::from(join!(set(99), set(100), set(101), set(102)));
    let refused = outcomes
        .iter()
        .filter(|set| matches!(set, Err(WriteError::GroupLimit)));
    assert_eq!(refused.count(), 2, "{outcomes:?}");
    assert_eq!(groups_of(store, &ann).await.len(), 100);
    set(0)
        .await
        .expect("a membership that exists can be set again");
    let unknown = join_until(store, &ann, "nobody", None).await;
    assert!(
        matches!(unknown, Err(WriteError::GroupNotFound)),
        "{unknown:?}"
    );
}

pub(super) async fn a_group_that_a_key_names_is_not_deleted(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let staff = create_group(store, "staff").await;
    create_group(store, "staff2").await;
    create_key(store, &ann, &["staff2"]).await.expect("created");
    delete_group(store, Principal::Operator, staff.id)
        .await
        .expect("deleted");
    let staff = create_group(store, "staff").await;
    create_key(store, &ann, &["crew", "staff"])
        .await
        .expect_err("no such group");
    create_key(store, &ann, &["staff", "staff2"])
        .await
        .expect("created");
    match delete_group(store, Principal::Operator, staff.id).await {
        Err(WriteError::GroupInUse(keys)) => assert_eq!(keys[0].username, "ann"),
        other => panic!("{other:?}"),
    }
    for round in 0..20 {
        let group = create_group(store, &format!("round{round}")).await;
        let names = [&*group.name];
        let (created, deleted) = join!(
            create_key(store, &ann, &names),
            delete_group(store, Principal::Operator, group.id)
        );
        assert_ne!(created.is_ok(), deleted.is_ok(), "{created:?} {deleted:?}");
    }
}

pub(super) async fn deleting_a_group_ends_each_membership_and_records_it(store: &UserStore) {
    let staff = create_group(store, "staff").await;
    for number in 0..3 {
        let user = insert(store, &format!("user {number}"), Role::USER).await;
        join_until(store, &user, "staff", None).await.expect("set");
    }
    store.seal_all().await.expect("sealed");
    let seen = store.newest_change().await.expect("read");
    let deleted = delete_group(store, Principal::Operator, staff.id)
        .await
        .expect("deleted");
    assert_eq!(deleted.members, 3);
    store.seal_all().await.expect("sealed");
    let changes = store.changes_after(seen).await.expect("read");
    let names: Vec<_> = changes
        .iter()
        .map(|change| {
            let content = change.content.as_ref().expect("readable");
            assert!(content.memberships.is_empty() && content.role == Role::USER);
            content.username.clone()
        })
        .collect();
    assert_eq!(names, ["user 0", "user 1", "user 2"]);
}

pub(super) async fn an_account_that_has_ended_is_disabled_and_revoked_when_its_end_moves(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    let later = now(store).await + 3600;
    let user = set_end(store, Principal::Operator, &ann, Some(later))
        .await
        .expect("set");
    assert_eq!((user.until, user.disabled), (Some(later), false));
    assert_eq!(user.tokens_not_before, ann.tokens_not_before);
    let past = now(store).await;
    let user = set_end(store, Principal::Operator, &ann, Some(past))
        .await
        .expect("set");
    assert!(user.disabled);
    let enabled = enable(store, Principal::Operator, &ann)
        .await
        .expect("enabled");
    assert!(enabled.disabled, "enabling does not move the end");
    let began = now(store).await;
    let user = set_end(store, Principal::Operator, &ann, None)
        .await
        .expect("set");
    assert!(!user.disabled && user.until.is_none());
    assert_revoked_since(store, began, &user).await;
}

pub(super) async fn the_last_admin_is_the_last_one_without_an_end(store: &UserStore) {
    let ann = insert(store, "ann", Role::ADMIN).await;
    let bob = insert(store, "bob", Role::ADMIN).await;
    let later = Some(now(store).await + 3600);
    set_end(store, as_admin(&ann), &bob, later)
        .await
        .expect("set");
    let last = set_end(store, as_admin(&ann), &ann, later).await;
    assert!(matches!(last, Err(WriteError::LastAdmin)), "{last:?}");
    let demoted = set_role(store, as_admin(&bob), &ann, Role::USER).await;
    assert!(matches!(demoted, Err(WriteError::LastAdmin)), "{demoted:?}");
    set_role(store, as_admin(&ann), &bob, Role::USER)
        .await
        .expect("bob has an end");
    set_role(store, as_admin(&ann), &bob, Role::ADMIN)
        .await
        .expect("set");
    set_end(store, as_admin(&ann), &bob, None)
        .await
        .expect("removed");
    set_end(store, as_admin(&ann), &ann, later)
        .await
        .expect("bob stays");
    let ended = Some(now(store).await);
    set_end(store, Principal::Operator, &ann, ended)
        .await
        .expect("set");
    let refused = set_end(store, as_admin(&ann), &bob, None).await;
    assert!(
        matches!(refused, Err(WriteError::ActorNotFound)),
        "{refused:?}"
    );
}
