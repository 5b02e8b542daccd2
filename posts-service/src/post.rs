//! Stored posts.

/// A post. It holds only the id of its author: auth-service owns usernames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Assigned by the database, at least 1, never reused.
    pub id: i64,
    /// Never changes.
    pub author_id: i64,
    /// As written.
    pub title: String,
    /// As written.
    pub content: String,
    /// Time of creation, in milliseconds since 1970-01-01T00:00:00Z.
    pub created_at: i64,
    /// Time of the last update, in milliseconds likewise; increases with every update.
    pub updated_at: i64,
}

/// A post with the current username of its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostWithAuthor {
    /// The post.
    pub post: Post,
    /// `None` if the author was deleted.
    pub author: Option<String>,
}
