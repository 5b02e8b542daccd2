//! Tests sessions that end because they are idle, or because a new session exceeds the limit.

use super::{
    changes::insert_token,
    insert,
    sessions::{END, add, find, ids, new, session, sessions},
};
use crate::{
    principal::Principal,
    store::{
        UsageKind,
        user_store::{UserStore, open},
    },
    tokens::{NewToken, TokenKind},
    user::User,
};
use rolegate_proto::Role;
use rolegate_sql_store::{DatabaseUrl, Store as _};
use tokio::join;

fn made_at(user: &User, digest: &str, created_at: u64) -> NewToken {
    let mut new = new(TokenKind::Session, user, digest);
    new.stored.created_at = created_at;
    new
}

pub(super) async fn of_a_hundred_sessions_those_that_ended_and_then_the_idlest_make_room(
    store: &UserStore,
) {
    let (ann, bob) = (
        insert(store, "ann", Role::USER).await,
        insert(store, "bob", Role::USER).await,
    );
    let of_bob = session(store, &bob, "of bob").await.id;
    let sign_in = async |created_at, expires_at: u64| {
        let digest = format!(
            "{created_at} {expires_at} {}",
            sessions(store, &ann).await.len()
        );
        let mut new = made_at(&ann, &digest, created_at);
        new.stored.expires_at = Some(expires_at);
        insert_token(store, Principal::Operator, new)
            .await
            .expect("made")
            .id
    };
    // The session that is inserted last has the earliest time of creation, so the order by time differs from the order
    // by id.
    let mut made = Vec::new();
    for index in 0..99 {
        made.push(sign_in(1099 - index, END).await);
    }
    let ended = sign_in(1500, 1600).await;
    assert_eq!(sessions(store, &ann).await, [&made[..], &[ended]].concat());
    made.push(sign_in(1600, END).await);
    assert_eq!(
        sessions(store, &ann).await,
        made,
        "the one that has ended made room"
    );
    made.push(sign_in(1601, END).await);
    made.remove(98);
    assert_eq!(sessions(store, &ann).await, made, "the idlest made room");
    // All of the new sessions exist, in whatever order they were inserted.
    for round in 0..10 {
        let rival = |rival: u64| {
            let new = made_at(&ann, &format!("{round} {rival}"), 2000 + round);
            insert_token(store, Principal::Operator, new)
        };
        let inserted: [_; 4] = join!(rival(0), rival(1), rival(2), rival(3)).into();
        let left = sessions(store, &ann).await;
        assert_eq!(left.len(), 100, "round {round}");
        assert!(
            inserted
                .into_iter()
                .all(|one| left.contains(&one.expect("made").id))
        );
    }
    assert_eq!(sessions(store, &bob).await, [of_bob]);
}

pub(super) async fn idle_sessions_are_deleted_once_whoever_finds_them(store: &UserStore) {
    let ann = insert(store, "ann", Role::USER).await;
    let mut made = Vec::new();
    for created_at in [10, 20, 30] {
        let digest = created_at.to_string();
        let new = made_at(&ann, &digest, created_at);
        let inserted = insert_token(store, Principal::Operator, new).await;
        made.push(inserted.expect("made").id);
    }
    let key = add(store, TokenKind::ApiKey, &ann, "key").await.id;
    let delete_but = async |ids: &[i64], active_range| {
        store
            .delete_idle_sessions(ids, active_range)
            .await
            .expect("done")
    };
    let delete = async |ids: &[i64], last_use: u64| delete_but(ids, last_use + 1..END).await;
    assert_eq!(delete(&made, 9).await, [0; 0]);
    assert_eq!(
        delete(&made[1..], 10).await,
        [0; 0],
        "only those that were asked for"
    );
    assert_eq!(delete(&[made[1], made[0]], 10).await, made[..1]);
    // A session that another replica or a logout has already ended is also returned.
    assert_eq!(delete(&made, 10).await, made[..1]);
    let both: [_; 2] = join!(delete(&made, 20), delete(&made, 20)).into();
    assert_eq!(both, [&made[..2], &made[..2]]);
    assert_eq!(sessions(store, &ann).await, made[2..]);
    assert_eq!(delete_but(&made[2..], 30..31).await, [0; 0]);
    assert_eq!(
        delete_but(&made[2..], 0..30).await,
        made[2..],
        "used by a clock that was ahead"
    );
    assert_eq!(
        delete_but(&[key], 0..0).await,
        [0; 0],
        "keys have no such end"
    );
    assert_eq!(ids(store, TokenKind::ApiKey, &ann).await, [key]);
    assert_eq!(delete_but(&[], 0..0).await, [0; 0]);
}

/// A written use counts as the last use. So when a new session exceeds the limit, the idle session ends, and the
/// session that was used stays.
async fn a_session_in_use_is_not_idle_and_makes_no_room(url: &DatabaseUrl) {
    let store = open(url).await.expect("opened");
    let ann = insert(&store, "ann", Role::USER).await;
    let (used, idle) = (
        session(&store, &ann, "used").await,
        session(&store, &ann, "idle").await,
    );
    store.note_use(UsageKind::Token, used.id, 50);
    let noted = |id| store.unwritten_use(UsageKind::Token, id);
    assert_eq!((noted(used.id), noted(idle.id)), (Some(50), None));
    store.close().await;
    let store = open(url).await.expect("opened");
    assert_eq!(
        find(&store, "used").await.map(|found| found.last_used_at),
        Some(50)
    );
    let ended = store
        .delete_idle_sessions(&[used.id, idle.id], 50..51)
        .await;
    assert_eq!(ended.expect("deleted"), [idle.id]);
    for created_at in 8..108 {
        let digest = created_at.to_string();
        let new = made_at(&ann, &digest, created_at);
        insert_token(&store, Principal::Operator, new)
            .await
            .expect("made");
    }
    assert!(find(&store, "used").await.is_some() && find(&store, "8").await.is_none());
    store.close().await;
}

#[tokio::test]
async fn a_session_in_use_is_not_idle_and_makes_no_room_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
    a_session_in_use_is_not_idle_and_makes_no_room(&url).await;
}

#[tokio::test]
async fn a_session_in_use_is_not_idle_and_makes_no_room_on_postgres() {
    let database = postgres_cluster::Database::create().await;
    let url = Some(database.url().as_str().into());
    let url = DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL");
    a_session_in_use_is_not_idle_and_makes_no_room(&url).await;
}
