//! Stores the posts of a simulation in memory, in place of the SQL of posts-service. This file is compiled as a part of
//! posts-service, and only with `--cfg simulation`.

pub(crate) mod deleted_authors;
pub mod faults;

use crate::post::{Post, PostAuthor, PostContent};
use async_trait::async_trait;
use deleted_authors::Position;
use faults::{read, write};
use rolegate_program::failure::Failure;
use rolegate_sql_store::{DatabaseUrl, Inspection, Store, StoreError, StoreStatus};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub(crate) const NAME: &str = "posts";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostSelector {
    pub(crate) id: i64,
    pub(crate) author_id: Option<i64>,
}

#[derive(Debug)]
pub(crate) struct PostPage {
    pub(crate) posts: Vec<Post>,
    pub(crate) has_more: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostFilter {
    pub(crate) after: i64,
    pub(crate) author_id: Option<i64>,
    pub(crate) limit: i64,
    pub(crate) content_bytes: i64,
}

/// The database of posts, which all posts-services of the simulation share.
#[derive(Debug, Default)]
pub struct Database(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    posts: BTreeMap<i64, StoredPost>,
    last_id: i64,
    position: Position,
}

/// A post, and when its author was created.
#[derive(Clone, Debug)]
struct StoredPost {
    post: Post,
    author_created_at: Option<i64>,
}

impl StoredPost {
    fn author(&self) -> PostAuthor {
        PostAuthor {
            id: self.post.author_id,
            created_at: self.author_created_at,
        }
    }
}

thread_local! {
    static DATABASE: RefCell<Arc<Database>> = RefCell::default();
}

/// Replaces the database by an empty one for a new run.
pub fn reset(seed: u64) {
    DATABASE.set(Arc::default());
    faults::reset(seed);
}

/// Opens the shared database of the simulation.
#[expect(clippy::unused_async, reason = "as the store that it stands for")]
pub async fn open(_: &DatabaseUrl) -> Result<Arc<Database>, Failure> {
    Ok(DATABASE.with_borrow(Arc::clone))
}

/// Skips the ids up to those of another database, as after a restore. A simulation never restores a database.
pub(crate) async fn skip_ids(database: &Database, other: i64) -> Result<(), StoreError> {
    write(async {
        let mut rows = database.rows();
        rows.last_id = rows.last_id.max(other) + 1;
        Ok(())
    })
    .await
}

/// Refuses, because doctor cannot inspect a simulated database.
#[expect(clippy::unused_async, reason = "as the store that it stands for")]
pub async fn inspect(_: &DatabaseUrl) -> Result<Inspection, Failure> {
    Err("a simulated database cannot be inspected".into())
}

impl Database {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for Database {
    async fn ping(&self) -> Result<(), StoreError> {
        read(async { Ok(()) }).await
    }

    fn status(&self) -> StoreStatus {
        StoreStatus::default()
    }

    async fn close(&self) {}
}

pub(crate) async fn insert(
    database: &Database,
    author: PostAuthor,
    PostContent { title, content }: PostContent,
    now: i64,
) -> Result<Post, StoreError> {
    write(async {
        let mut rows = database.rows();
        rows.last_id += 1;
        let (id, created_at, updated_at) = (rows.last_id, now, now);
        let post = Post {
            id,
            author_id: author.id,
            title,
            content,
            created_at,
            updated_at,
        };
        let stored = StoredPost {
            post: post.clone(),
            author_created_at: author.created_at,
        };
        rows.posts.insert(id, stored);
        Ok(post)
    })
    .await
}

pub(crate) async fn posts_by_id(database: &Database, ids: &[i64]) -> Result<Vec<Post>, StoreError> {
    let find = |rows: &Rows| {
        ids.iter()
            .filter_map(|id| rows.posts.get(id).map(|it| it.post.clone()))
            .collect()
    };
    read(async { Ok(find(&database.rows())) }).await
}

pub(crate) async fn size_by_id(database: &Database, ids: &[i64]) -> Result<i64, StoreError> {
    let posts = posts_by_id(database, ids).await?;
    let size: usize = posts
        .iter()
        .map(|post| post.title.len() + post.content.len())
        .sum();
    Ok(i64::try_from(size).unwrap_or(i64::MAX))
}

pub(crate) async fn page(database: &Database, filter: &PostFilter) -> Result<PostPage, StoreError> {
    let is_meant = |post: &&Post| {
        post.id > filter.after && filter.author_id.is_none_or(|id| id == post.author_id)
    };
    read(async {
        let found: Vec<Post> = database
            .rows()
            .posts
            .values()
            .map(|it| &it.post)
            .filter(is_meant)
            .cloned()
            .collect();
        let limit = usize::try_from(filter.limit).unwrap_or(0);
        let mut left = filter.content_bytes;
        let fits = |post: &Post| {
            let is_begun = left > 0;
            left -= i64::try_from(post.content.len()).unwrap_or(i64::MAX);
            is_begun
        };
        let all = found.len();
        let mut fits = fits;
        let posts: Vec<Post> = found
            .into_iter()
            .take(limit)
            .take_while(|post| fits(post))
            .collect();
        let has_more = posts.len() < all;
        Ok(PostPage { posts, has_more })
    })
    .await
}

pub(crate) async fn update(
    database: &Database,
    selector: PostSelector,
    PostContent { title, content }: PostContent,
    now: i64,
) -> Result<Option<Post>, StoreError> {
    write(async {
        let mut rows = database.rows();
        let Some(post) = find(&mut rows, selector) else {
            return Ok(None);
        };
        (post.title, post.content) = (title, content);
        post.updated_at = now.max(post.updated_at + 1);
        Ok(Some(post.clone()))
    })
    .await
}

pub(crate) async fn delete(
    database: &Database,
    selector: PostSelector,
) -> Result<Option<i64>, StoreError> {
    write(async {
        let mut rows = database.rows();
        let Some(author_id) = find(&mut rows, selector).map(|post| post.author_id) else {
            return Ok(None);
        };
        rows.posts.remove(&selector.id);
        Ok(Some(author_id))
    })
    .await
}

pub(crate) async fn author_of(database: &Database, id: i64) -> Result<Option<i64>, StoreError> {
    read(async { Ok(database.rows().posts.get(&id).map(|it| it.post.author_id)) }).await
}

fn find(rows: &mut Rows, selector: PostSelector) -> Option<&mut Post> {
    let post = &mut rows.posts.get_mut(&selector.id)?.post;
    selector
        .author_id
        .is_none_or(|author_id| author_id == post.author_id)
        .then_some(post)
}
