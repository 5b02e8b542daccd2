//! Posts as they are stored.

/// A post. Whose it is stands in it as an id only: names are auth-service's to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Assigned by the database, at least 1, never given out twice.
    pub id: i64,
    /// Who wrote it; never changes.
    pub author_id: i64,
    /// As written.
    pub title: String,
    /// As written.
    pub content: String,
    /// When it was created, in milliseconds since 1970-01-01T00:00:00Z.
    pub created_at: i64,
    /// When it was last changed, likewise; each change is later than the one before.
    pub updated_at: i64,
}

/// A post with the name that its author has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostWithAuthor {
    /// The post.
    pub post: Post,
    /// `None` when its author is deleted.
    pub author: Option<String>,
}
