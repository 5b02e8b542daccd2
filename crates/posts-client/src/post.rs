//! Posts as posts-service shows them to others.

use prost_types::Timestamp;
use rolegate_auth_client::CallError;
use rolegate_proto::posts_v1;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// At least 1; never given out twice.
    pub id: i64,
    /// 1 to 200 characters.
    pub title: String,
    /// 1 to 50,000 characters.
    pub content: String,
    /// Who wrote it.
    pub author_id: i64,
    /// The author's username when the call was answered; `None` when that user is deleted.
    pub author: Option<String>,
    /// When it was created, to the millisecond.
    pub created_at: SystemTime,
    /// When it was last changed, to the millisecond.
    pub updated_at: SystemTime,
}

/// What is to stand in a post; posts-service judges it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostInput {
    /// 1 to 200 characters.
    pub title: String,
    /// 1 to 50,000 characters.
    pub content: String,
}

/// Which posts [`PostsClient::list`](crate::PostsClient::list) returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostQuery {
    /// At most this many: 1 to 200; `None` for 50.
    pub limit: Option<u16>,
    /// Only greater ids; `None` from the first.
    pub after: Option<i64>,
    /// Only this author's; `None` for all.
    pub author_id: Option<i64>,
}

/// A page of posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostPage {
    /// By ascending id.
    pub posts: Vec<Post>,
    /// The `after` of the next page; `None` on the last.
    pub next: Option<i64>,
}

impl TryFrom<posts_v1::Post> for Post {
    type Error = CallError;

    fn try_from(post: posts_v1::Post) -> Result<Self, CallError> {
        Ok(Self {
            id: post.id,
            title: post.title,
            content: post.content,
            author_id: post.author_id,
            author: post.author,
            created_at: time(post.created_at)?,
            updated_at: time(post.updated_at)?,
        })
    }
}

/// From 1970 to the end of the year 9999: 2,932,897 days.
const YEAR_10000: Duration = Duration::from_hours(70_389_528);

fn time(timestamp: Option<Timestamp>) -> Result<SystemTime, CallError> {
    let time = timestamp.and_then(|time| SystemTime::try_from(time).ok());
    // What has a form in RFC 3339.
    let years = UNIX_EPOCH..UNIX_EPOCH + YEAR_10000;
    time.filter(|time| years.contains(time)).ok_or(CallError::Malformed)
}

impl Post {
    pub(crate) fn required(post: Option<posts_v1::Post>) -> Result<Self, CallError> {
        post.ok_or(CallError::Malformed)?.try_into()
    }
}
