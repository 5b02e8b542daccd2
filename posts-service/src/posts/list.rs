//! Listing posts, a page at a time.

use super::{PostError, Posts};
use crate::{post::PostWithAuthor, store::PostFilter};
use rolegate_proto::limits::page_size;

/// A page ends after the post that brings its contents to so many bytes: two hundred of the longest
/// posts would be a message of 40 MB, for anybody who asks.
const LARGEST_CONTENTS: i64 = 2 * 1024 * 1024;

/// Which posts to list, as asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// The `page_size` of the contract.
    pub size: i32,
    /// Only greater ids; 0 for the first page.
    pub after: i64,
    /// Only posts of this author; `None` for all.
    pub author_id: Option<i64>,
}

/// A page of posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostPage {
    /// By ascending id.
    pub posts: Vec<PostWithAuthor>,
    /// The `after` of the next page; `None` on the last.
    pub next_after: Option<i64>,
}

impl Posts {
    /// Lists posts by ascending id.
    pub async fn list(&self, request: PageRequest) -> Result<PostPage, PostError> {
        let invalid_size = PostError::RequestInvalid("page_size must be 0 to 200");
        let size = page_size(request.size).ok_or(invalid_size)?;
        if request.after < 0 {
            return Err(PostError::RequestInvalid("after must not be negative"));
        }
        let filter = PostFilter {
            after: request.after,
            author_id: request.author_id,
            limit: size.into(),
            content_bytes: LARGEST_CONTENTS,
        };
        let page = self.store.page(&filter).await?;
        let next_after = page.posts.last().filter(|_| page.has_more).map(|post| post.id);
        Ok(PostPage { posts: self.with_authors(page.posts).await?, next_after })
    }
}
