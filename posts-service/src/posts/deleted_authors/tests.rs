//! Tests how a stream of changes of users affects posts, on each engine.

use super::{DeletedAuthors, Refusal, snapshot::PAGE_SIZE};
use crate::{
    post::{DELETED, PostAuthor, PostContent, PostsOfDeletedUsers},
    store::{
        PostFilter,
        deleted_authors::{NextPosition, accept_next_history, advance, position},
        insert, open, page,
    },
};
use rolegate_auth_client::{
    CallError, Reason, UserChange, UserEvent, UserWatcher, WatchError, WatchPosition, WatchProgress,
};
use rolegate_program::secret::SecretSource;
use rolegate_sql_store::{Database, StoreError};
use secrecy::ExposeSecret as _;
use std::{fs, sync::Arc};

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        deletions_take_posts_and_the_stream_goes_on_behind_the_last,
        posts_of_users_who_are_not_in_a_snapshot_are_taken,
        a_snapshot_without_more_than_a_tenth_of_the_authors_needs_the_word_of_an_operator,
        a_snapshot_of_a_service_that_does_not_name_its_history_takes_nothing,
        posts_of_a_user_who_was_imported_again_stay_and_those_from_before_are_taken,
        users_who_were_moved_to_another_history_keep_their_posts,
        posts_that_are_newer_than_the_connection_stay,
        malformed_snapshots_take_nothing_more,
        the_revision_of_a_change_is_stored_when_it_is_due_and_progress_always,
        a_history_that_an_operator_gives_up_ends_the_connection,
        snapshot_of_a_restored_backup_replaces_the_revision_unless_another_process_has,
        of_two_processes_that_follow_the_later_takes_nothing_again,
        warnings_are_not_repeated_until_the_stream_goes_on,
    ]
}

fn watcher(store: &Database) -> DeletedAuthors {
    DeletedAuthors::new(Arc::new(store.clone()), PostsOfDeletedUsers::Detach, None)
}

fn change(revision: i64, user_id: i64, deleted: bool) -> UserEvent {
    UserEvent::Change(UserChange {
        revision,
        user_id,
        deleted,
        ..UserChange::default()
    })
}

/// Returns the deletion of a user who was created at this time. For revision 0, returns the user as a snapshot contains
/// it.
fn of_made_at(revision: i64, user_id: i64, created_at: i64) -> UserEvent {
    UserEvent::Change(UserChange {
        revision,
        user_id,
        deleted: revision > 0,
        created_at: Some(created_at),
        ..UserChange::default()
    })
}

fn progress(revision: i64) -> UserEvent {
    UserEvent::Progress(WatchProgress {
        revision,
        seal: None,
    })
}

fn sealed(revision: i64, seal: &str) -> UserEvent {
    UserEvent::Progress(WatchProgress {
        revision,
        seal: Some(seal.to_owned()),
    })
}

fn step(revision: i64) -> NextPosition {
    NextPosition {
        revision,
        seal: None,
        replaces_revision: None,
        generation: 0,
    }
}

/// Returns the events of a snapshot, with which a stream without a revision begins.
fn snapshot(users: impl IntoIterator<Item = i64>, revision: i64) -> Vec<UserEvent> {
    let users = users.into_iter().map(|id| change(0, id, false));
    users.chain([progress(revision)]).collect()
}

/// Connects again, and returns the revision after which the stream continues.
async fn connect(watcher: &mut DeletedAuthors) -> Option<i64> {
    watcher.connect(false).await.expect("read").revision
}

async fn handle(watcher: &mut DeletedAuthors, events: Vec<UserEvent>) -> Result<(), WatchError> {
    for event in events {
        watcher.handle(event).await?;
    }
    Ok(())
}

async fn insert_by(store: &Database, authors: &[i64]) {
    for &id in authors {
        insert_made_at(store, id, None).await;
    }
}

async fn insert_made_at(store: &Database, id: i64, created_at: Option<i64>) {
    let content = PostContent::new("title".into(), "content".into()).expect("valid");
    let author = PostAuthor { id, created_at };
    insert(store, author, content, 1_000)
        .await
        .expect("inserted");
}

async fn authors(store: &Database) -> Vec<i64> {
    let filter = PostFilter {
        after: 0,
        author_id: None,
        limit: 1_000,
        content_bytes: i64::MAX,
    };
    let posts = page(store, &filter).await.expect("read").posts;
    posts.into_iter().map(|post| post.author_id).collect()
}

async fn deletions_take_posts_and_the_stream_goes_on_behind_the_last(store: &Database) {
    insert_by(store, &[1, 2, 3]).await;
    let mut watcher = watcher(store);
    assert_eq!(connect(&mut watcher).await, None, "a snapshot comes first");
    handle(&mut watcher, snapshot([1, 2, 3], 7))
        .await
        .expect("handled");
    assert_eq!(connect(&mut watcher).await, Some(7));
    let events = vec![change(8, 1, false), change(9, 2, true), progress(10)];
    handle(&mut watcher, events).await.expect("handled");
    assert_eq!(authors(store).await, [1, DELETED, 3]);
    assert_eq!(connect(&mut watcher).await, Some(10));
}

async fn posts_of_users_who_are_not_in_a_snapshot_are_taken(store: &Database) {
    let size = i64::try_from(PAGE_SIZE).expect("small");
    // The authors are around the ends of the pages, and every third user is deleted.
    let ends = [1, size, size + 1, 2 * size, 3 * size];
    let candidates: Vec<i64> = ends.iter().flat_map(|end| end - 1..end + 3).collect();
    let is_deleted = |id: i64| id % 3 == 0 || id > 3 * size;
    insert_by(store, &candidates).await;
    accept_next_history(store).await.expect("written");
    let mut watcher = watcher(store);
    connect(&mut watcher).await;
    let users = (1..=3 * size).filter(|&id| !is_deleted(id));
    handle(&mut watcher, snapshot(users, 7))
        .await
        .expect("handled");
    let fate = |&id: &i64| if is_deleted(id) { DELETED } else { id };
    assert_eq!(
        authors(store).await,
        candidates.iter().map(fate).collect::<Vec<_>>()
    );
    assert_eq!(connect(&mut watcher).await, Some(7));
}

async fn a_snapshot_without_more_than_a_tenth_of_the_authors_needs_the_word_of_an_operator(
    store: &Database,
) {
    let all: Vec<i64> = (1..=20).collect();
    insert_by(store, &all).await;
    insert_by(store, &[20, 20]).await;
    let mut watcher = watcher(store);
    for users in [&[1][..], &all[..17]] {
        watcher.refused_history = None;
        connect(&mut watcher).await;
        let refused = handle(&mut watcher, snapshot(users.to_vec(), 7)).await;
        let refusal = Refusal::TooManyLost {
            lost: 20 - users.len(),
            authors: 20,
        };
        let error = refused.expect_err("too many are lost");
        assert_eq!(error.downcast_ref(), Some(&refusal));
        assert_eq!(authors(store).await[..20], all, "nothing has changed");
        assert_eq!(position(store).await.expect("read").revision, 0);
        let again = watcher.connect(false).await.expect_err("not yet");
        assert_eq!(again.to_string(), error.to_string(), "no second snapshot");
    }
    accept_next_history(store).await.expect("written");
    connect(&mut watcher).await;
    handle(&mut watcher, snapshot(all[..17].to_vec(), 7))
        .await
        .expect("an operator has said it");
    assert_eq!(
        authors(store).await[16..],
        [17, DELETED, DELETED, DELETED, DELETED, DELETED]
    );
    assert!(
        !position(store).await.expect("read").accepts_any,
        "only once"
    );
    // One of 17 authors is missing, which is less than a tenth.
    watcher.connect(true).await.expect("read");
    handle(&mut watcher, snapshot(all[..16].to_vec(), 8))
        .await
        .expect("handled");
    assert_eq!(authors(store).await[15..17], [16, DELETED]);
}

async fn a_snapshot_of_a_service_that_does_not_name_its_history_takes_nothing(store: &Database) {
    insert_by(store, &[1; 20]).await;
    let mut watcher = watcher(store);
    let events = vec![change(0, 1, false), sealed(7, "7:a")];
    connect(&mut watcher).await;
    handle(&mut watcher, events).await.expect("handled");
    let found = watcher.connect(true).await.expect("read");
    assert_eq!((found.revision, found.seal.as_deref()), (None, Some("7:a")));
    let refused = handle(&mut watcher, snapshot([1], 9)).await;
    let error = refused.expect_err("a service of the previous release");
    assert_eq!(error.downcast_ref(), Some(&Refusal::Unidentified));
    assert_eq!(position(store).await.expect("read").revision, 7);
    watcher.refused_history = None;
    assert_eq!(connect(&mut watcher).await, Some(7));
    watcher.position_stored_at = None;
    handle(&mut watcher, vec![progress(8)])
        .await
        .expect("its changes are those that follow");
    let found = watcher.connect(false).await.expect("read");
    assert_eq!(
        (found.revision, found.seal.as_deref()),
        (Some(8), Some("7:a"))
    );
}

async fn posts_of_a_user_who_was_imported_again_stay_and_those_from_before_are_taken(
    store: &Database,
) {
    let mut watcher = watcher(store);
    insert_by(store, &[1; 20]).await;
    connect(&mut watcher).await;
    let events = vec![
        of_made_at(0, 1, 50),
        of_made_at(0, 2, 100),
        sealed(7, "7:a"),
    ];
    handle(&mut watcher, events).await.expect("handled");
    // The user is deleted at revision 8 and imported at revision 9, before posts-service learns of it.
    insert_made_at(store, 2, Some(100)).await;
    insert_made_at(store, 2, Some(200)).await;
    connect(&mut watcher).await;
    let events = vec![of_made_at(8, 2, 100), change(9, 2, false)];
    handle(&mut watcher, events).await.expect("handled");
    assert_eq!(authors(store).await[20..], [DELETED, 2]);
    // A snapshot has the same effect, although it contains the user only as imported.
    let newer = [2, 2].map(|id| insert_made_at(store, id, Some(200)));
    for insert in newer {
        insert.await;
    }
    for _ in 0..20 {
        insert_made_at(store, 3, Some(300)).await;
    }
    watcher.connect(true).await.expect("read");
    let mut events: Vec<_> = (10..40).map(|id| of_made_at(0, id, 1)).collect();
    events.splice(
        0..0,
        [
            of_made_at(0, 1, 50),
            of_made_at(0, 2, 400),
            of_made_at(0, 3, 300),
        ],
    );
    events.push(sealed(12, "12:a"));
    for id in 10..40 {
        insert_made_at(store, id, None).await;
    }
    watcher.connect(true).await.expect("read");
    handle(&mut watcher, events).await.expect("handled");
    assert_eq!(authors(store).await[20..24], [DELETED; 4]);
    assert_eq!(authors(store).await[24], 3);
}

async fn users_who_were_moved_to_another_history_keep_their_posts(store: &Database) {
    for (user_created_at, deleted_at) in [(900, 4), (0, 14)] {
        insert_made_at(store, 2, Some(100)).await;
        accept_next_history(store).await.expect("written");
        let mut watcher = watcher(store);
        connect(&mut watcher).await;
        let events = vec![
            of_made_at(0, 2, user_created_at),
            sealed(deleted_at - 1, "3:b"),
        ];
        handle(&mut watcher, events).await.expect("handled");
        assert_eq!(authors(store).await.last(), Some(&2));
        connect(&mut watcher).await;
        let deletion = of_made_at(deleted_at, 2, user_created_at);
        handle(&mut watcher, vec![deletion]).await.expect("handled");
        assert_eq!(
            authors(store).await.last(),
            Some(&DELETED),
            "they are theirs"
        );
    }
}

async fn posts_that_are_newer_than_the_connection_stay(store: &Database) {
    insert_by(store, &[8]).await;
    accept_next_history(store).await.expect("written");
    let mut watcher = watcher(store);
    connect(&mut watcher).await;
    insert_by(store, &[9, 8]).await;
    handle(&mut watcher, snapshot([1], 7))
        .await
        .expect("handled");
    assert_eq!(authors(store).await, [DELETED, 9, 8]);
}

async fn malformed_snapshots_take_nothing_more(store: &Database) {
    insert_by(store, &[2]).await;
    let mut watcher = watcher(store);
    for users in [&[][..], &[3, 1], &[1, 1], &[0]] {
        connect(&mut watcher).await;
        let events = snapshot(users.iter().copied(), 7);
        handle(&mut watcher, events).await.expect_err("malformed");
        assert_eq!(authors(store).await, [2], "{users:?}");
        assert_eq!(connect(&mut watcher).await, None);
    }
    // The connection breaks during a snapshot, and the next connection begins a new one.
    handle(&mut watcher, vec![change(0, 1, false), change(0, 3, false)])
        .await
        .expect("handled");
    connect(&mut watcher).await;
    handle(&mut watcher, snapshot([1, 2], 7))
        .await
        .expect("handled");
    assert_eq!(authors(store).await, [2]);
}

async fn the_revision_of_a_change_is_stored_when_it_is_due_and_progress_always(store: &Database) {
    advance(store, step(5)).await.expect("written");
    let mut watcher = watcher(store);
    for (event, stored) in [
        (progress(6), 6),
        (progress(7), 7),
        (change(8, 1, false), 7),
        (change(9, 1, true), 9),
        (change(10, 1, false), 9),
        (progress(10), 10),
    ] {
        handle(&mut watcher, vec![event.clone()])
            .await
            .expect("handled");
        assert_eq!(connect(&mut watcher).await, Some(stored), "{event:?}");
    }
    watcher.position_stored_at = None;
    handle(&mut watcher, vec![change(11, 1, false)])
        .await
        .expect("handled");
    assert_eq!(connect(&mut watcher).await, Some(11));
}

async fn a_history_that_an_operator_gives_up_ends_the_connection(store: &Database) {
    insert_by(store, &[1; 20]).await;
    let mut watcher = watcher(store);
    connect(&mut watcher).await;
    handle(&mut watcher, snapshot([1], 7))
        .await
        .expect("handled");
    accept_next_history(store).await.expect("written");
    for event in [progress(8), change(9, 1, true)] {
        watcher
            .handle(event)
            .await
            .expect_err("it would follow nothing");
    }
    assert_eq!(authors(store).await, [1; 20]);
    assert_eq!(connect(&mut watcher).await, None, "a snapshot comes next");
}

async fn snapshot_of_a_restored_backup_replaces_the_revision_unless_another_process_has(
    store: &Database,
) {
    advance(store, step(100)).await.expect("written");
    let (mut one, mut other) = (watcher(store), watcher(store));
    for watcher in [&mut one, &mut other] {
        assert_eq!(connect(watcher).await, Some(100));
        assert_eq!(watcher.connect(true).await.expect("read").revision, None);
    }
    handle(&mut one, snapshot([1], 50)).await.expect("handled");
    handle(&mut one, vec![change(52, 9, true)])
        .await
        .expect("handled");
    handle(&mut other, snapshot([1], 51))
        .await
        .expect("handled");
    assert_eq!(connect(&mut other).await, Some(52));
}

async fn of_two_processes_that_follow_the_later_takes_nothing_again(store: &Database) {
    advance(store, step(5)).await.expect("written");
    insert_by(store, &[2]).await;
    let (mut one, mut other) = (watcher(store), watcher(store));
    assert_eq!(
        (connect(&mut one).await, connect(&mut other).await),
        (Some(5), Some(5))
    );
    let deletion = || vec![change(6, 2, true)];
    handle(&mut one, deletion()).await.expect("handled");
    assert_eq!(authors(store).await, [DELETED]);
    // An operator has imported the user again.
    insert_by(store, &[2]).await;
    handle(&mut other, deletion()).await.expect("handled");
    assert_eq!(authors(store).await, [DELETED, 2]);
}

async fn warnings_are_not_repeated_until_the_stream_goes_on(store: &Database) {
    let mut watcher = watcher(store);
    let outage: WatchError = CallError::Unavailable.into();
    let refused: WatchError = CallError::local(Reason::RoleInsufficient).into();
    let unknown: WatchError = CallError::local(Reason::HistoryUnknown).into();
    for error in [outage, StoreError::TimedOut.into()] {
        watcher.interrupted(&error);
    }
    assert_eq!(watcher.last_warning, None, "they are logged elsewhere");
    for error in [&refused, &unknown] {
        watcher.interrupted(error);
        assert_eq!(watcher.last_warning, Some(error.to_string()));
    }
    connect(&mut watcher).await;
    watcher.handle(change(0, 1, false)).await.expect("handled");
    assert!(
        watcher.last_warning.is_some(),
        "it may break in the same way"
    );
    watcher.handle(progress(7)).await.expect("handled");
    assert_eq!(watcher.last_warning, None);
}

#[tokio::test]
async fn key_is_read_anew_for_each_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let url =
        rolegate_sql_store::DatabaseUrl::from_file("DATABASE_URL", folder.path().join("p.db"));
    let (store, file) = (open(&url).await.expect("opened"), folder.path().join("key"));
    let source = SecretSource::from_file("USER_CHANGES_KEY_FILE", &file);
    let mut watcher = DeletedAuthors::new(store, PostsOfDeletedUsers::Detach, Some(source));
    for key in ["rgk_one", "rgk_two"] {
        fs::write(&file, format!("{key}\n")).expect("written");
        let WatchPosition { token, .. } = watcher.connect(false).await.expect("read");
        assert_eq!(token.expect("a key").expose_secret(), key);
    }
    fs::remove_file(&file).expect("removed");
    let error = watcher.connect(false).await.expect_err("no file");
    assert!(
        error.to_string().starts_with("USER_CHANGES_KEY_FILE: "),
        "{error}"
    );
}
