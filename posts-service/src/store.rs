//! The database of posts: the trait [`PostStore`], for PostgreSQL and for SQLite. SQL stays here.

mod sql;

pub use sql::{inspect, open};

use crate::post::{Post, PostContent};
use async_trait::async_trait;
use rolegate_sql_store::{Store, StoreError};

/// The label of this store in metrics.
pub(crate) const NAME: &str = "posts";

/// Selects the post to write. The statement that writes checks both conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostSelector {
    /// The id.
    pub id: i64,
    /// The author; `None` for any.
    pub author_id: Option<i64>,
}

/// Selects a page of posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostFilter {
    /// Only greater ids.
    pub after: i64,
    /// Only this author's; `None` for all.
    pub author_id: Option<i64>,
    /// At most this many.
    pub limit: i64,
    /// The page ends after the post whose content reaches this total, in bytes.
    pub content_bytes: i64,
}

/// A database of posts. Times are in milliseconds since 1970-01-01T00:00:00Z.
#[async_trait]
pub trait PostStore: Store {
    /// Inserts a post; the database assigns the id.
    async fn insert(
        &self,
        author_id: i64,
        content: PostContent,
        now: i64,
    ) -> Result<Post, StoreError>;

    /// The posts with these ids, each once, in no particular order; unknown ids are absent.
    async fn posts_by_id(&self, ids: &[i64]) -> Result<Vec<Post>, StoreError>;

    /// Bytes of the titles and contents of these posts together.
    async fn size_by_id(&self, ids: &[i64]) -> Result<i64, StoreError>;

    /// A page of posts by ascending id, and whether there are more after them.
    async fn page(&self, filter: &PostFilter) -> Result<(Vec<Post>, bool), StoreError>;

    /// Changes a post and advances its `updated_at`; `None` if there is no such post.
    async fn update(
        &self,
        selector: PostSelector,
        content: PostContent,
        now: i64,
    ) -> Result<Option<Post>, StoreError>;

    /// Deletes a post and returns its author; `None` if there is no such post.
    async fn delete(&self, selector: PostSelector) -> Result<Option<i64>, StoreError>;

    /// The author of a post; `None` if there is no such post.
    async fn author_of(&self, id: i64) -> Result<Option<i64>, StoreError>;
}

#[cfg(test)]
pub(crate) mod tests;
