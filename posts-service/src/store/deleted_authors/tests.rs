//! Tests how the store detaches and deletes posts of deleted users, on each engine.

use super::{
    AuthorRange, History, MAX_BATCH, NextPosition, OrphanedPosts, Position, WrittenBy,
    accept_next_history, advance, advance_with_last_posts, author_ids, authors_with_creation_time,
    detach_or_delete_posts, position, reassign_posts,
};
use crate::{
    post::{DELETED, PostAuthor, PostContent, PostsOfDeletedUsers},
    store::{PostFilter, insert, open, page, skip_ids},
};
use PostsOfDeletedUsers::{Delete, Detach};
use rolegate_sql_store::Database;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        revision_grows_or_replaces_the_one_that_was_read,
        a_history_that_was_given_up_goes_on_with_a_snapshot_only,
        posts_lose_their_author_or_are_deleted_within_the_bounds,
        only_posts_of_the_user_who_was_deleted_are_taken,
        authors_are_listed_by_id_and_by_when_they_were_made,
        posts_of_an_author_who_was_moved_get_another_time,
        many_posts_are_taken_in_batches,
        posts_are_taken_only_while_the_stored_revision_is_lower,
        last_posts_are_taken_if_the_revision_is_stored,
        ids_that_are_skipped_are_never_given_out,
    ]
}

async fn insert_made_at(store: &Database, id: i64, created_at: Option<i64>) -> i64 {
    let content = PostContent::new("title".into(), "content".into()).expect("valid");
    let author = PostAuthor { id, created_at };
    let post = insert(store, author, content, 1_000).await;
    post.expect("inserted").id
}

async fn insert_by(store: &Database, authors: &[i64]) {
    for &author in authors {
        insert_made_at(store, author, None).await;
    }
}

/// Returns the authors of all posts in the order of the posts, after checking that no post was updated.
async fn post_authors(store: &Database) -> Vec<i64> {
    let filter = PostFilter {
        after: 0,
        author_id: None,
        limit: 1_000,
        content_bytes: i64::MAX,
    };
    let posts = page(store, &filter).await.expect("read").posts;
    assert!(
        posts.iter().all(|post| post.updated_at == 1_000),
        "the text has not changed"
    );
    posts.into_iter().map(|post| post.author_id).collect()
}

async fn revision(store: &Database) -> i64 {
    position(store).await.expect("read").revision
}

fn range(after: i64, last: i64, newest_post: i64) -> AuthorRange {
    AuthorRange {
        after,
        last,
        newest_post,
    }
}

/// Selects all posts of a user, whatever the revision of the deletion.
fn user(author_id: i64) -> OrphanedPosts {
    OrphanedPosts {
        author_id,
        written_by: WrittenBy::AnyUser,
        newest_post: i64::MAX,
        revision: None,
        generation: 0,
    }
}

fn step(revision: i64, replaces_revision: Option<i64>) -> NextPosition {
    NextPosition {
        revision,
        seal: None,
        replaces_revision,
        generation: 0,
    }
}

async fn revision_grows_or_replaces_the_one_that_was_read(store: &Database) {
    assert_eq!(position(store).await.expect("read"), Position::default());
    for (new, replaces_revision, expected) in [
        (5, None, 5),
        (3, None, 5),
        (5, None, 5),
        (3, Some(4), 5),
        (3, Some(5), 3),
        (9, Some(4), 9),
    ] {
        advance(store, step(new, replaces_revision))
            .await
            .expect("written");
        assert_eq!(
            revision(store).await,
            expected,
            "{new} {replaces_revision:?}"
        );
    }
    insert_by(store, &[1, 2]).await;
    let found = position(store).await.expect("read");
    assert_eq!((found.revision, found.newest_post), (9, 2));
}

async fn a_history_that_was_given_up_goes_on_with_a_snapshot_only(store: &Database) {
    let sealed = |revision, replaces_revision, seal: Option<&str>| NextPosition {
        seal: seal.map(str::to_owned),
        ..step(revision, replaces_revision)
    };
    let known = Position {
        revision: 6,
        seal: Some("5:a".to_owned()),
        ..Position::default()
    };
    for step in [sealed(5, None, Some("5:a")), sealed(6, None, None)] {
        advance(store, step).await.expect("written");
    }
    assert_eq!(position(store).await.expect("read"), known);
    accept_next_history(store).await.expect("written");
    let given_up = Position {
        accepts_any: true,
        generation: 1,
        ..Position::default()
    };
    assert_eq!(position(store).await.expect("read"), given_up);
    insert_by(store, &[1]).await;
    let deletion = OrphanedPosts {
        revision: Some(7),
        ..user(1)
    };
    let snapshot = NextPosition {
        generation: 1,
        ..sealed(3, Some(0), Some("3:b"))
    };
    let followed = Position {
        revision: 3,
        seal: Some("3:b".to_owned()),
        accepts_any: false,
        generation: 1,
        newest_post: 1,
    };
    // A process follows the earlier history until the store reports that an operator has given it up.
    for next in [None, Some(snapshot)] {
        if let Some(snapshot) = next {
            let history = advance(store, snapshot).await.expect("written");
            assert_eq!(history, History::Followed);
        }
        detach_or_delete_posts(store, Detach, deletion)
            .await
            .expect("written");
        let late = sealed(7, None, Some("7:a"));
        let history = advance_with_last_posts(store, late, Detach, deletion).await;
        assert_eq!(history.expect("written"), History::GivenUp, "it is told");
        assert_eq!(post_authors(store).await, [1]);
    }
    assert_eq!(position(store).await.expect("read"), followed);
}

async fn posts_lose_their_author_or_are_deleted_within_the_bounds(store: &Database) {
    insert_by(store, &[DELETED, 1, 2, 3, 2, 2]).await;
    let deleted = OrphanedPosts {
        newest_post: 5,
        ..user(2)
    };
    assert_eq!(
        detach_or_delete_posts(store, Detach, deleted)
            .await
            .expect("written"),
        2
    );
    assert_eq!(
        post_authors(store).await,
        [DELETED, 1, DELETED, 3, DELETED, 2]
    );
    assert_eq!(
        detach_or_delete_posts(store, Delete, user(2))
            .await
            .expect("written"),
        1
    );
    assert_eq!(
        detach_or_delete_posts(store, Delete, user(3))
            .await
            .expect("written"),
        1
    );
    assert_eq!(post_authors(store).await, [DELETED, 1, DELETED, DELETED]);
}

async fn only_posts_of_the_user_who_was_deleted_are_taken(store: &Database) {
    for (written_by, expected) in [
        (WrittenBy::AnyUser, [DELETED; 3]),
        (WrittenBy::CreatedAtOrUnknown(100), [DELETED, DELETED, 2]),
        (WrittenBy::CreatedAtOrUnknown(0), [DELETED, 2, 2]),
        (WrittenBy::CreatedAt(200), [2, 2, DELETED]),
    ] {
        let mut ids = Vec::new();
        for created_at in [None, Some(100), Some(200)] {
            ids.push(insert_made_at(store, 2, created_at).await);
        }
        let deleted = OrphanedPosts {
            written_by,
            ..user(2)
        };
        detach_or_delete_posts(store, Detach, deleted)
            .await
            .expect("written");
        let authors = post_authors(store).await;
        assert_eq!(authors[authors.len() - 3..], expected, "{written_by:?}");
        detach_or_delete_posts(store, Detach, user(2))
            .await
            .expect("written");
    }
}

async fn authors_are_listed_by_id_and_by_when_they_were_made(store: &Database) {
    insert_by(store, &[DELETED, 5, 3, 3]).await;
    insert_made_at(store, 3, Some(100)).await;
    insert_made_at(store, 3, Some(200)).await;
    let newest = insert_made_at(store, 4, None).await;
    insert_made_at(store, 4, Some(300)).await;
    let ids = author_ids(store, range(0, 4, newest)).await.expect("read");
    assert_eq!(ids, [3, 4]);
    let behind = author_ids(store, range(4, i64::MAX, newest))
        .await
        .expect("read");
    assert_eq!(behind, [5]);
    let dated = authors_with_creation_time(store, range(0, 4, newest))
        .await
        .expect("read");
    let mut dated: Vec<_> = dated.iter().map(|it| (it.id, it.created_at)).collect();
    dated.sort_unstable();
    assert_eq!(dated, [(3, Some(100)), (3, Some(200))]);
}

async fn posts_of_an_author_who_was_moved_get_another_time(store: &Database) {
    const MANY: i64 = MAX_BATCH as i64 + 1;
    let author = |created_at| PostAuthor { id: 3, created_at };
    for _ in 0..MANY {
        insert_made_at(store, 3, Some(100)).await;
    }
    let newest = insert_made_at(store, 3, Some(200)).await;
    insert_made_at(store, 3, Some(100)).await;
    for (from, to, count) in [(100, Some(300), MANY), (200, None, 1)] {
        let dated = reassign_posts(store, author(Some(from)), author(to), newest).await;
        assert_eq!(i64::try_from(dated.expect("written")), Ok(count));
    }
    let left = authors_with_creation_time(store, range(0, 9, i64::MAX))
        .await
        .expect("read");
    let mut left: Vec<_> = left.iter().map(|it| it.created_at).collect();
    left.sort_unstable();
    assert_eq!(left, [Some(100), Some(300)]);
}

async fn many_posts_are_taken_in_batches(store: &Database) {
    const MANY: usize = 2 * MAX_BATCH as usize + 1;
    for fate in [Detach, Delete] {
        insert_by(store, &[1; MANY]).await;
        insert_by(store, &[2]).await;
        assert_eq!(
            detach_or_delete_posts(store, fate, user(1))
                .await
                .expect("written"),
            MANY
        );
    }
    assert_eq!(
        post_authors(store).await,
        [&[DELETED; MANY][..], &[2, 2]].concat()
    );
}

async fn posts_are_taken_only_while_the_stored_revision_is_lower(store: &Database) {
    advance(store, step(7, None)).await.expect("written");
    insert_by(store, &[1]).await;
    for (revision, expected) in [(6, 1), (7, 1), (8, DELETED)] {
        let deleted = OrphanedPosts {
            revision: Some(revision),
            ..user(1)
        };
        detach_or_delete_posts(store, Detach, deleted)
            .await
            .expect("written");
        assert_eq!(post_authors(store).await, [expected], "{revision}");
    }
}

async fn last_posts_are_taken_if_the_revision_is_stored(store: &Database) {
    insert_by(store, &[1, 2]).await;
    for (id, revision, expected) in [
        (1, 7, [DELETED, 2]),
        (2, 7, [DELETED, 2]),
        (2, 8, [DELETED; 2]),
    ] {
        let deleted = OrphanedPosts {
            revision: Some(revision),
            ..user(id)
        };
        advance_with_last_posts(store, step(revision, None), Detach, deleted)
            .await
            .expect("written");
        assert_eq!(post_authors(store).await, expected, "{id} {revision}");
    }
    assert_eq!(revision(store).await, 8);
}

async fn ids_that_are_skipped_are_never_given_out(store: &Database) {
    skip_ids(store, 5).await.expect("written");
    let first = insert_made_at(store, 1, None).await;
    assert!(first > 5 + 1_000_000, "{first}");
    skip_ids(store, 5).await.expect("written");
    let second = insert_made_at(store, 1, None).await;
    assert!(second > first + 1_000_000, "{second}");
    skip_ids(store, 2 * second).await.expect("written");
    assert!(insert_made_at(store, 1, None).await > 2 * second);
}
