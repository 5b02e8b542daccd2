//! The database of posts: the trait [`PostStore`], for PostgreSQL and for SQLite. SQL stays here.

mod sql;

pub use sql::{inspect, open};

use crate::post::{Post, PostContent};
use async_trait::async_trait;
use rolegate_sql_store::{Store, StoreError};

/// The label of this store in metrics.
pub(crate) const NAME: &str = "posts";

/// A post to insert; the database assigns the id.
#[derive(Clone, Debug)]
pub struct NewPost {
    /// The author.
    pub author_id: i64,
    /// Title and content.
    pub content: PostContent,
    /// The time of the write, in milliseconds since 1970-01-01T00:00:00Z.
    pub now: i64,
}

/// The new content of a post.
#[derive(Clone, Debug)]
pub struct PostUpdate {
    /// Title and content.
    pub content: PostContent,
    /// The time of the write, in milliseconds since 1970-01-01T00:00:00Z.
    pub now: i64,
}

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

/// Posts by ascending id, and whether there are more after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostRows {
    /// The posts.
    pub posts: Vec<Post>,
    /// Whether more posts match the filter.
    pub has_more: bool,
}

impl PostRows {
    /// `posts` and `found` come from a query for one row more than `limit`; `found` counts the rows
    /// before `content_bytes` cut them off.
    fn new(mut posts: Vec<Post>, found: i64, limit: i64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        posts.truncate(limit);
        let has_more = usize::try_from(found).is_ok_and(|found| found > posts.len());
        Self { posts, has_more }
    }
}

/// A database of posts.
#[async_trait]
pub trait PostStore: Store {
    /// Inserts a post.
    async fn insert(&self, post: NewPost) -> Result<Post, StoreError>;

    /// The posts with these ids, each once, in no particular order; unknown ids are absent.
    async fn posts_by_id(&self, ids: &[i64]) -> Result<Vec<Post>, StoreError>;

    /// Bytes of the titles and contents of these posts together.
    async fn size_by_id(&self, ids: &[i64]) -> Result<i64, StoreError>;

    /// A page of posts.
    async fn page(&self, filter: &PostFilter) -> Result<PostRows, StoreError>;

    /// Changes a post and advances its `updated_at`; `None` if there is no such post.
    async fn update(
        &self,
        selector: PostSelector,
        update: PostUpdate,
    ) -> Result<Option<Post>, StoreError>;

    /// Deletes a post and returns its author; `None` if there is no such post.
    async fn delete(&self, selector: PostSelector) -> Result<Option<i64>, StoreError>;

    /// The author of a post; `None` if there is no such post.
    async fn author_of(&self, id: i64) -> Result<Option<i64>, StoreError>;
}

#[cfg(test)]
pub(crate) mod tests;
