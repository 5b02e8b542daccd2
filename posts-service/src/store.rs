//! Where posts are kept: one small trait, two engines.
//!
//! Look-ups return what there is, writes say whether they happened. Nothing above this module sees
//! SQL, and nothing here decides.

mod open;
mod postgres;
mod sqlite;

pub(crate) use open::examine;
pub use open::open;
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;

use crate::{post::Post, post_content::PostContent};
use async_trait::async_trait;
use rolegate_sql_store::{PoolStats, StoreError};

/// What metrics call this store.
pub(crate) const NAME: &str = "posts";

/// A post to insert; the database assigns the id.
#[derive(Clone, Debug)]
pub struct NewPost {
    /// Who writes it.
    pub author_id: i64,
    /// What they write.
    pub content: PostContent,
    /// When, in milliseconds since 1970-01-01T00:00:00Z.
    pub now: i64,
}

/// What is to stand in a post from now on.
#[derive(Clone, Debug)]
pub struct PostUpdate {
    /// Title and content.
    pub content: PostContent,
    /// When, in milliseconds since 1970-01-01T00:00:00Z.
    pub now: i64,
}

/// Which post is written. Both conditions are part of the statement that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostSelector {
    /// The post with this id,
    pub id: i64,
    /// if it is this author's; `None` whoever wrote it.
    pub author_id: Option<i64>,
}

/// Which posts to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostFilter {
    /// Only greater ids.
    pub after: i64,
    /// Only this author's; `None` for all.
    pub author_id: Option<i64>,
    /// At most this many.
    pub limit: i64,
    /// No more after the one that brings the contents to so many bytes.
    pub content_bytes: i64,
}

/// Posts by ascending id, and whether there are more after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostRows {
    /// The posts.
    pub posts: Vec<Post>,
    /// Whether the filter holds for more.
    pub has_more: bool,
}

impl PostRows {
    /// From rows that were asked for with one more than the limit; `found` were there before the
    /// contents were measured.
    fn new(mut posts: Vec<Post>, found: i64, limit: i64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        posts.truncate(limit);
        let has_more = usize::try_from(found).is_ok_and(|found| found > posts.len());
        Self { posts, has_more }
    }
}

/// What posts-service needs of a database of posts.
#[async_trait]
pub trait PostStore: Send + Sync + 'static {
    /// Succeeds when a statement can be answered now.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Inserts a post.
    async fn insert(&self, post: NewPost) -> Result<Post, StoreError>;

    /// The posts with these ids, each once, in no particular order; unknown ids are absent.
    async fn posts_by_id(&self, ids: &[i64]) -> Result<Vec<Post>, StoreError>;

    /// A page of posts.
    async fn page(&self, filter: &PostFilter) -> Result<PostRows, StoreError>;

    /// Changes a post and moves its `updated_at` forward; `None` when there is no such post.
    async fn update(
        &self,
        selector: PostSelector,
        update: PostUpdate,
    ) -> Result<Option<Post>, StoreError>;

    /// Deletes a post; who wrote it, or `None` when there is no such post.
    async fn delete(&self, selector: PostSelector) -> Result<Option<i64>, StoreError>;

    /// Who wrote the post with this id; `None` when nobody did.
    async fn author_of(&self, id: i64) -> Result<Option<i64>, StoreError>;

    /// The pools of connections, and how they are used now.
    fn pools(&self) -> Vec<PoolStats>;

    /// Finishes what is under way and closes every connection.
    async fn close(&self);
}

#[cfg(test)]
pub(crate) mod tests;
