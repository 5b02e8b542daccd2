//! What the store does with posts of deleted users on each engine.

use super::{BATCH, Deleted, advance, position, take_posts};
use crate::{
    post::{DELETED, PostContent, PostsOfDeletedUsers},
    store::{PostFilter, insert, open, page},
};
use PostsOfDeletedUsers::{Delete, Keep};
use rolegate_sql_store::Database;

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        revision_grows_or_replaces_the_one_that_was_read,
        posts_lose_their_author_or_are_deleted_within_the_bounds,
        many_posts_are_taken_in_batches,
        posts_are_taken_only_while_the_stored_revision_is_lower,
        last_posts_are_taken_if_the_revision_is_stored,
    ]
}

async fn insert_by(store: &Database, authors: &[i64]) {
    for &author in authors {
        let content = PostContent::new("title".into(), "content".into()).expect("valid");
        insert(store, author, content, 1_000)
            .await
            .expect("inserted");
    }
}

/// The authors of all posts by the ids of the posts, and when all were changed.
async fn authors(store: &Database) -> Vec<i64> {
    let filter = PostFilter {
        after: 0,
        author_id: None,
        limit: 1_000,
        content_bytes: i64::MAX,
    };
    let (posts, _) = page(store, &filter).await.expect("read");
    assert!(
        posts.iter().all(|post| post.updated_at == 1_000),
        "the text has not changed"
    );
    posts.into_iter().map(|post| post.author_id).collect()
}

async fn revision(store: &Database) -> i64 {
    position(store).await.expect("read").0
}

/// A deleted user, at any revision.
fn user(id: i64) -> Deleted<'static> {
    let (newest_post, revision) = (i64::MAX, i64::MAX);
    Deleted {
        after: id - 1,
        last: id,
        except: &[],
        newest_post,
        revision,
    }
}

async fn revision_grows_or_replaces_the_one_that_was_read(store: &Database) {
    assert_eq!(position(store).await.expect("read"), (0, 0));
    for (new, instead_of, expected) in [
        (5, None, 5),
        (3, None, 5),
        (5, None, 5),
        (3, Some(4), 5),
        (3, Some(5), 3),
        (9, Some(4), 9),
    ] {
        advance(store, (new, instead_of), None)
            .await
            .expect("written");
        assert_eq!(revision(store).await, expected, "{new} {instead_of:?}");
    }
    insert_by(store, &[1, 2]).await;
    assert_eq!(position(store).await.expect("read"), (9, 2));
}

async fn posts_lose_their_author_or_are_deleted_within_the_bounds(store: &Database) {
    insert_by(store, &[DELETED, 1, 2, 3, 4, 5, 2, 2]).await;
    let (except, revision) = (&[3, 9][..], i64::MAX);
    let deleted = Deleted {
        after: 1,
        last: 4,
        except,
        newest_post: 7,
        revision,
    };
    assert_eq!(take_posts(store, Keep, deleted).await.expect("written"), 3);
    assert_eq!(
        authors(store).await,
        [DELETED, 1, DELETED, 3, DELETED, 5, DELETED, 2]
    );
    let all = Deleted {
        after: 0,
        last: i64::MAX,
        newest_post: i64::MAX,
        ..deleted
    };
    assert_eq!(take_posts(store, Delete, all).await.expect("written"), 3);
    assert_eq!(
        authors(store).await,
        [DELETED, DELETED, 3, DELETED, DELETED]
    );
    assert_eq!(
        take_posts(store, Delete, user(3)).await.expect("written"),
        1
    );
    assert_eq!(authors(store).await, [DELETED; 4]);
}

async fn many_posts_are_taken_in_batches(store: &Database) {
    const MANY: usize = 2 * BATCH as usize + 1;
    for fate in [Keep, Delete] {
        insert_by(store, &[1; MANY]).await;
        insert_by(store, &[2]).await;
        assert_eq!(
            take_posts(store, fate, user(1)).await.expect("written"),
            MANY
        );
    }
    assert_eq!(
        authors(store).await,
        [&[DELETED; MANY][..], &[2, 2]].concat()
    );
}

async fn posts_are_taken_only_while_the_stored_revision_is_lower(store: &Database) {
    advance(store, (7, None), None).await.expect("written");
    insert_by(store, &[1]).await;
    for (revision, expected) in [(6, 1), (7, 1), (8, DELETED)] {
        let deleted = Deleted {
            revision,
            ..user(1)
        };
        take_posts(store, Keep, deleted).await.expect("written");
        assert_eq!(authors(store).await, [expected], "{revision}");
    }
}

async fn last_posts_are_taken_if_the_revision_is_stored(store: &Database) {
    insert_by(store, &[1, 2]).await;
    for (id, revision, expected) in [
        (1, 7, [DELETED, 2]),
        (2, 7, [DELETED, 2]),
        (2, 8, [DELETED; 2]),
    ] {
        let deleted = Deleted {
            revision,
            ..user(id)
        };
        advance(store, (revision, None), Some((Keep, deleted)))
            .await
            .expect("written");
        assert_eq!(authors(store).await, expected, "{id} {revision}");
    }
    assert_eq!(revision(store).await, 8);
}
