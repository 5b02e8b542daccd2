//! Tests the store of posts on each engine.

use super::{
    PostFilter, PostPage, PostSelector, author_of, delete, open, posts_by_id, size_by_id, update,
};
use crate::post::{Post, PostAuthor, PostContent};
use rolegate_sql_store::{Database, Store as _};

postgres_cluster::conformance_tests! {
    open: open,
    cases: [
        ids_ascend_and_are_never_reused,
        posts_are_stored_to_the_letter,
        lookups_omit_unknown_ids,
        update_selects_by_id_and_author,
        update_advances_updated_at,
        delete_selects_by_id_and_author,
        pages_are_ordered_and_filtered,
        page_ends_after_so_many_bytes,
        closed_store_is_unavailable,
    ]
}

const ALL: PostFilter = PostFilter {
    after: 0,
    author_id: None,
    limit: 10,
    content_bytes: 1_000_000,
};

/// Selects a post of any author.
fn any(id: i64) -> PostSelector {
    PostSelector {
        id,
        author_id: None,
    }
}

fn by(author_id: i64, id: i64) -> PostSelector {
    PostSelector {
        id,
        author_id: Some(author_id),
    }
}

fn content_of(title: &str, content: &str) -> PostContent {
    PostContent::new(title.into(), content.into()).expect("valid")
}

fn author(id: i64) -> PostAuthor {
    PostAuthor {
        id,
        created_at: None,
    }
}

async fn insert(store: &Database, author_id: i64, content: &str) -> Post {
    super::insert(
        store,
        author(author_id),
        content_of("title", content),
        1_000,
    )
    .await
    .expect("inserted")
}

async fn get(store: &Database, id: i64) -> Option<Post> {
    posts_by_id(store, &[id]).await.expect("read").pop()
}

async fn ids_ascend_and_are_never_reused(store: &Database) {
    let first = insert(store, 7, "first").await.id;
    let second = insert(store, 7, "second").await.id;
    assert!(first >= 1 && second > first);
    delete(store, any(second)).await.expect("deleted");
    assert!(insert(store, 7, "third").await.id > second);
}

async fn posts_are_stored_to_the_letter(store: &Database) {
    let (title, content) = ("'; DROP TABLE post; --", " a\r\n\t\u{1b}🦀\u{10ffff} ");
    let inserted = super::insert(store, author(i64::MAX), content_of(title, content), 1_000).await;
    let post = inserted.expect("inserted");
    let expected = Post {
        id: post.id,
        author_id: i64::MAX,
        title: title.into(),
        content: content.into(),
        created_at: 1_000,
        updated_at: 1_000,
    };
    assert_eq!(post, expected);
    assert_eq!(get(store, post.id).await, Some(expected));
}

async fn lookups_omit_unknown_ids(store: &Database) {
    let (one, two) = (insert(store, 7, "one").await, insert(store, 8, "two").await);
    let mut found = posts_by_id(store, &[two.id, 999, one.id, -1])
        .await
        .expect("read");
    found.sort_by_key(|post| post.id);
    assert_eq!(found, [one.clone(), two]);
    assert_eq!(posts_by_id(store, &[]).await.expect("read"), []);
    let size = async |ids: &[i64]| size_by_id(store, ids).await.expect("read");
    assert_eq!(
        size(&[one.id, 999, found[1].id]).await,
        16,
        "titleone and titletwo"
    );
    assert_eq!(size(&[999]).await, 0);
    assert_eq!(author_of(store, one.id).await.expect("read"), Some(7));
    assert_eq!(author_of(store, 999).await.expect("read"), None);
}

async fn update_selects_by_id_and_author(store: &Database) {
    let post = insert(store, 7, "one").await;
    let change = async |selector, now| {
        update(store, selector, content_of("new title", "new"), now)
            .await
            .expect("an answer")
    };
    assert_eq!(change(by(8, post.id), 2_000).await, None);
    assert_eq!(change(any(999), 2_000).await, None);
    assert_eq!(get(store, post.id).await, Some(post.clone()));
    for (selector, updated_at) in [(by(7, post.id), 2_000), (any(post.id), 3_000)] {
        let changed = change(selector, updated_at).await;
        let (title, content) = ("new title".into(), "new".into());
        assert_eq!(
            changed,
            Some(Post {
                title,
                content,
                updated_at,
                ..post.clone()
            })
        );
        assert_eq!(get(store, post.id).await, changed);
    }
}

async fn update_advances_updated_at(store: &Database) {
    let post = insert(store, 7, "one").await;
    for (now, updated_at) in [(1_000, 1_001), (5, 1_002), (2_000, 2_000)] {
        let changed = update(store, any(post.id), content_of("title", "two"), now).await;
        let changed = changed.expect("updated");
        assert_eq!(changed.map(|post| post.updated_at), Some(updated_at));
    }
}

async fn delete_selects_by_id_and_author(store: &Database) {
    let (one, two) = (
        insert(store, 7, "one").await.id,
        insert(store, 7, "two").await.id,
    );
    let remove = async |selector| delete(store, selector).await.expect("an answer");
    assert_eq!(remove(by(8, one)).await, None);
    assert_eq!(remove(any(999)).await, None);
    assert_eq!(remove(by(7, one)).await, Some(7));
    assert_eq!(remove(any(one)).await, None);
    assert_eq!(remove(any(two)).await, Some(7));
    assert_eq!(get(store, two).await, None);
}

async fn page(store: &Database, filter: &PostFilter) -> (Vec<String>, bool) {
    let PostPage { posts, has_more } = super::page(store, filter).await.expect("read");
    (
        posts.into_iter().map(|post| post.content).collect(),
        has_more,
    )
}

fn contents(contents: &[&str], has_more: bool) -> (Vec<String>, bool) {
    (
        contents.iter().map(|&content| content.to_owned()).collect(),
        has_more,
    )
}

async fn pages_are_ordered_and_filtered(store: &Database) {
    assert_eq!(page(store, &ALL).await, contents(&[], false));
    let first = insert(store, 7, "one").await.id;
    for (author_id, content) in [(8, "two"), (7, "three"), (8, "four")] {
        insert(store, author_id, content).await;
    }
    assert_eq!(
        page(store, &ALL).await,
        contents(&["one", "two", "three", "four"], false)
    );
    let two = PostFilter { limit: 2, ..ALL };
    assert_eq!(page(store, &two).await, contents(&["one", "two"], true));
    let next = PostFilter {
        after: first,
        ..two
    };
    assert_eq!(page(store, &next).await, contents(&["two", "three"], true));
    let of_author = PostFilter {
        author_id: Some(8),
        ..two
    };
    assert_eq!(
        page(store, &of_author).await,
        contents(&["two", "four"], false)
    );
    let last = PostFilter {
        after: first,
        author_id: Some(7),
        ..two
    };
    assert_eq!(page(store, &last).await, contents(&["three"], false));
}

async fn page_ends_after_so_many_bytes(store: &Database) {
    for content in ["ééé", "a", "b"] {
        insert(store, 7, content).await;
    }
    for (content_bytes, found, has_more) in [
        (1, &["ééé"][..], true),
        (6, &["ééé"][..], true),
        (7, &["ééé", "a"][..], true),
        (8, &["ééé", "a", "b"][..], false),
    ] {
        let filter = PostFilter {
            content_bytes,
            ..ALL
        };
        assert_eq!(
            page(store, &filter).await,
            contents(found, has_more),
            "{content_bytes} bytes"
        );
    }
}

async fn closed_store_is_unavailable(store: &Database) {
    store.ping().await.expect("open");
    store.close().await;
    store.ping().await.expect_err("closed");
    posts_by_id(store, &[1]).await.expect_err("closed");
}
