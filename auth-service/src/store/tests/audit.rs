//! Tests the record of what happened: each change writes its row, in the order of the commits.

use super::{
    assert_not_found,
    changes::{
        as_admin, delete, delete_tokens, disable, enable, insert_token, revoke_tokens,
        set_password, set_role, stranger,
    },
    insert,
    sessions::new,
};
use crate::{
    audit::{AuditRow, Entry, EventGroup},
    change::TokenSelection,
    principal::Principal,
    store::{AuditFilter, UserChange, user_store::UserStore},
    tokens::TokenKind,
    user::User,
};
use futures_util::TryStreamExt as _;
use rolegate_proto::Role;
use serde_json::json;
use tokio::join;

pub(super) async fn record(store: &UserStore) -> Vec<AuditRow> {
    while store.seal().await.expect("sealed") {}
    let filter = AuditFilter {
        limit: 1000,
        ..AuditFilter::default()
    };
    let rows = store.audit(&filter).await.expect("read");
    let rows = rows.into_iter().rev();
    rows.map(|row| row.content.expect("readable")).collect()
}

pub(super) async fn changes(store: &UserStore, revision: i64) -> Vec<UserChange> {
    let changes = store.changes_after(revision).await.expect("read");
    let changes = changes.into_iter();
    changes
        .map(|change| change.content.expect("readable"))
        .collect()
}

async fn events(store: &UserStore) -> Vec<String> {
    record(store)
        .await
        .into_iter()
        .map(|row| row.event)
        .collect()
}

pub(super) async fn each_change_is_recorded_once_with_its_actor_and_nothing_else_is(
    store: &UserStore,
) {
    let admin = insert(store, "admin", Role::ADMIN).await;
    let ann = insert(store, "ann", Role::USER).await;
    let id = ann.id;
    let by = || as_admin(&admin);
    let set = set_role(store, by(), &ann, Role::AUTHOR).await;
    set.expect("set");
    let refused = set_role(store, as_admin(&ann), &ann, Role::ADMIN).await;
    refused.expect_err("no admin");
    disable(store, by(), &ann).await.expect("disabled");
    enable(store, by(), &ann).await.expect("enabled");
    revoke_tokens(store, by(), &ann).await.expect("revoked");
    set_password(store, by(), &ann, "x").await.expect("set");
    assert!(
        store
            .replace_password(id, &"x".into(), "y".into())
            .await
            .expect("replaced")
    );
    let token = new(TokenKind::ApiKey, &ann, "digest");
    let token = insert_token(store, by(), token).await;
    let key = token.expect("inserted").id;
    let (kind, one) = (TokenKind::ApiKey, TokenSelection::One(key));
    for expected in [1, 0] {
        let deleted = delete_tokens(store, by(), kind, &ann, one).await;
        assert_eq!(deleted.expect("done").len(), expected);
    }
    delete(store, by(), &ann).await.expect("deleted");
    let rows = record(store).await;
    let recorded: Vec<_> = rows
        .iter()
        .map(|row| (&*row.event, &*row.details))
        .collect();
    let of_key = format!(r#"{{"key_id":{key}}}"#);
    let created_at = ann.created_at.expect("it is kept");
    let of_deletion = format!(r#"{{"role":"author","user_created_at":{created_at}}}"#);
    assert_eq!(
        recorded,
        [
            ("user_created", r#"{"by":"operator","role":"admin"}"#),
            ("user_created", r#"{"by":"operator","role":"user"}"#),
            ("role_changed", r#"{"from":"user","to":"author"}"#),
            ("user_disabled", r#"{"role":"author"}"#),
            ("user_enabled", r#"{"role":"author"}"#),
            ("tokens_revoked", r#"{"role":"author"}"#),
            ("password_set", "{}"),
            ("api_key_created", &*of_key),
            ("api_key_deleted", &*of_key),
            ("user_deleted", &*of_deletion),
        ]
    );
    for (row, revision) in rows.iter().zip(1..) {
        assert_eq!(row.revision, revision);
    }
    for row in &rows[2..] {
        let user = (row.user_id, row.username.as_deref());
        assert_eq!(user, (Some(id), Some("ann")), "{}", row.event);
        assert_eq!(
            (row.actor_id, row.actor.as_deref()),
            (Some(admin.id), Some("admin")),
            "{}",
            row.event
        );
    }
}

pub(super) async fn changes_of_users_follow_a_revision_and_a_snapshot(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    while store.seal().await.expect("sealed") {}
    let seal = store.seals().await.expect("a seal").newest;
    let bob = insert(store, "bob", Role::AUTHOR).await;
    let snapshot = store.snapshot().await.expect("a snapshot");
    assert_eq!(snapshot.revision, seal.revision + 1, "with what it shows");
    delete(store, Principal::Operator, &ann)
        .await
        .expect("deleted");
    let pages: Vec<Vec<User>> = snapshot.users.try_collect().await.expect("read");
    let names: Vec<_> = pages
        .into_iter()
        .flatten()
        .map(|user| user.username)
        .collect();
    assert_eq!(names, ["ann", "bob"], "as they were");
    assert!(
        changes(store, snapshot.revision).await.is_empty(),
        "not sealed"
    );
    while store.seal().await.expect("sealed") {}
    let both = changes(store, seal.revision).await;
    let seen: Vec<_> = both
        .iter()
        .map(|it| (it.user_id, it.role, it.deleted))
        .collect();
    assert_eq!(
        seen,
        [(bob.id, Role::AUTHOR, false), (ann.id, Role::USER, true)]
    );
    assert_eq!(changes(store, snapshot.revision).await, both[1..]);

    disable(store, Principal::Operator, &bob)
        .await
        .expect("disabled");
    let set = async |user: &User| set_role(store, Principal::Operator, user, Role::USER).await;
    set(&bob).await.expect("set");
    assert_not_found(set(&stranger(&bob)).await);
    while store.seal().await.expect("sealed") {}
    let last = both[1].revision;
    let later = changes(store, last).await;
    let seen: Vec<_> = later
        .iter()
        .map(|it| (it.revision - last, it.role, it.disabled))
        .collect();
    assert_eq!(seen, [(1, Role::AUTHOR, true), (2, Role::USER, true)]);
    assert!(later.iter().all(|it| it.username == "bob"), "{later:?}");
}

pub(super) async fn what_was_noted_is_recorded_and_rows_are_found_by_user_actor_and_event(
    store: &UserStore,
) {
    let ann = insert(store, "ann", Role::USER).await;
    let bob = insert(store, "bob", Role::ADMIN).await;
    let (user_id, username) = (Some(ann.id), Some("ann".to_owned()));
    let row = AuditRow {
        event: "login_failed".to_owned(),
        user_id,
        username,
        ..AuditRow::default()
    };
    store.enqueue_event(Entry::new(row, json!({})));
    set_role(store, as_admin(&bob), &ann, Role::AUTHOR)
        .await
        .expect("set");
    assert_eq!(events(store).await.len(), 4);
    let find = async |filter: AuditFilter| {
        let rows = store
            .audit(&AuditFilter { limit: 2, ..filter })
            .await
            .expect("read");
        let rows = rows.into_iter().map(|row| row.content.expect("readable"));
        rows.map(|row| row.event).collect::<Vec<_>>()
    };
    let of_ann = AuditFilter {
        user_id: Some(ann.id),
        ..AuditFilter::default()
    };
    assert_eq!(find(of_ann.clone()).await.len(), 2, "the limit");
    assert_eq!(
        find(AuditFilter {
            before_revision: Some(2),
            ..of_ann
        })
        .await,
        ["user_created"]
    );
    let by_bob = AuditFilter {
        actor_id: Some(bob.id),
        ..AuditFilter::default()
    };
    assert_eq!(find(by_bob).await, ["role_changed"]);
    let of_logins = AuditFilter {
        event: "login_failed".to_owned(),
        ..AuditFilter::default()
    };
    assert_eq!(find(of_logins).await, ["login_failed"]);

    let rows = record(store).await;
    let first = rows.iter().map(|row| row.at).min();
    let after_last = rows.iter().map(|row| row.at + 1).max();
    let all = AuditFilter {
        event: "user_created".to_owned(),
        ..AuditFilter::default()
    };
    let named = |name: &str| name.to_owned();
    for (filter, events) in [
        (
            AuditFilter {
                username: named("ann"),
                ..AuditFilter::default()
            },
            &["login_failed", "role_changed"][..],
        ),
        (
            AuditFilter {
                username: named("an"),
                ..AuditFilter::default()
            },
            &[],
        ),
        (
            AuditFilter {
                username: named("ANN"),
                ..AuditFilter::default()
            },
            &[],
        ),
        (
            AuditFilter {
                actor: named("bob"),
                ..AuditFilter::default()
            },
            &["role_changed"],
        ),
        (
            AuditFilter {
                actor: named("ann"),
                ..AuditFilter::default()
            },
            &[],
        ),
        (
            AuditFilter {
                events: Some(EventGroup::Refusals),
                ..AuditFilter::default()
            },
            &["login_failed"],
        ),
        (
            AuditFilter {
                events: Some(EventGroup::SignIns),
                ..AuditFilter::default()
            },
            &[],
        ),
        (
            AuditFilter {
                events: Some(EventGroup::Changes),
                ..AuditFilter::default()
            },
            &["role_changed", "user_created"],
        ),
        (
            AuditFilter {
                events: Some(EventGroup::Changes),
                username: named("bob"),
                ..AuditFilter::default()
            },
            &["user_created"],
        ),
        (
            AuditFilter {
                since: first,
                ..all.clone()
            },
            &["user_created", "user_created"],
        ),
        (
            AuditFilter {
                since: after_last,
                ..all.clone()
            },
            &[],
        ),
        (
            AuditFilter {
                before: first,
                ..all.clone()
            },
            &[],
        ),
        (
            AuditFilter {
                before: after_last,
                ..all.clone()
            },
            &["user_created", "user_created"],
        ),
        (
            AuditFilter {
                since: first,
                before: after_last,
                username: named("ann"),
                ..all
            },
            &["user_created"],
        ),
    ] {
        assert_eq!(find(filter.clone()).await, events, "{filter:?}");
    }
}

pub(super) async fn concurrent_sealing_gives_each_row_one_revision(store: &UserStore) {
    for name in ["a", "b", "c", "d", "e", "f"] {
        insert(store, name, Role::USER).await;
    }
    let (one, two, three) = join!(store.seal(), store.seal(), store.seal());
    for sealed in [one, two, three] {
        // On PostgreSQL, the sealing that waits for the lock finds that the rows are gone.
        sealed.expect("sealed");
    }
    let rows = record(store).await;
    let revisions: Vec<_> = rows.iter().map(|row| row.revision).collect();
    assert_eq!(revisions, [1, 2, 3, 4, 5, 6]);
}
