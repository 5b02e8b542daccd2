//! Defines posts as posts-service returns them, and the arguments of its calls.

use rolegate_grpc_client::CallError;
use rolegate_proto::{posts_v1, time::from_message};
use std::time::SystemTime;

/// A post, as posts-service returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The id, which is at least 1 and never reused.
    pub id: i64,
    /// The title, of 1 to 200 characters.
    pub title: String,
    /// The content, of 1 to 50,000 characters.
    pub content: String,
    /// The id of the user who created the post; `None` for a deleted user.
    pub author_id: Option<i64>,
    /// The author's username when posts-service answered; `None` for a deleted user.
    pub author: Option<String>,
    /// The time at which the post was created, in whole milliseconds.
    pub created_at: SystemTime,
    /// The time at which the post was last changed, in whole milliseconds. Each change has a later time than
    /// the previous one.
    pub updated_at: SystemTime,
}

/// The title and the content of a post, which posts-service validates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostInput {
    /// The title, of 1 to 200 characters.
    pub title: String,
    /// The content, of 1 to 50,000 characters.
    pub content: String,
}

/// Selects which posts [`PostsClient::list`](crate::PostsClient::list) returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostQuery {
    /// The maximum number of posts on the page, 1 to 200; `None` for 50. A page of long posts has fewer.
    pub limit: Option<u16>,
    /// Restricts the page to posts with greater ids; `None` for the first page.
    pub after: Option<i64>,
    /// Restricts the page to posts of this author; `None` for the posts of all authors.
    pub author_id: Option<i64>,
}

/// A page of posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostPage {
    /// The posts, by ascending id.
    pub posts: Vec<Post>,
    /// The value of `after` that requests the next page; `None` on the last page.
    pub next: Option<i64>,
}

impl TryFrom<posts_v1::Post> for Post {
    type Error = CallError;

    fn try_from(post: posts_v1::Post) -> Result<Self, CallError> {
        Ok(Self {
            id: post.id,
            title: post.title,
            content: post.content,
            author_id: match post.author_id {
                0 => None,
                id => Some(id),
            },
            author: post.author,
            created_at: from_message(post.created_at).ok_or(CallError::Malformed)?,
            updated_at: from_message(post.updated_at).ok_or(CallError::Malformed)?,
        })
    }
}

impl Post {
    pub(crate) fn try_from_response(post: Option<posts_v1::Post>) -> Result<Self, CallError> {
        post.ok_or(CallError::Malformed)?.try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::{Post, posts_v1};

    #[test]
    fn a_deleted_author_has_no_id() {
        let at = Some(prost_types::Timestamp::default());
        for (author_id, expected) in [(0, None), (7, Some(7))] {
            let post = posts_v1::Post {
                author_id,
                created_at: at,
                updated_at: at,
                ..Default::default()
            };
            assert_eq!(
                Post::try_from(post).map(|post| post.author_id),
                Ok(expected)
            );
        }
    }
}
