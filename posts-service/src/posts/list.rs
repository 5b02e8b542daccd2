//! The use case of `ListPosts`.

use super::{PostError, Posts};
use crate::{post::PostWithAuthor, store::PostFilter};
use rolegate_proto::limits::{MAX_PAGE_CONTENT_BYTES, page_size};

/// The page to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// The `page_size` of the contract.
    pub size: i32,
    /// Exclusive lower bound of the ids; 0 for the first page.
    pub after: i64,
    /// Only posts of this author; `None` for all.
    pub author_id: Option<i64>,
}

/// A page of posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostPage {
    /// By ascending id.
    pub posts: Vec<PostWithAuthor>,
    /// The `after` of the next page; `None` on the last page.
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
            content_bytes: MAX_PAGE_CONTENT_BYTES.into(),
        };
        let page = self.store.page(&filter).await?;
        let next_after = page.posts.last().filter(|_| page.has_more).map(|post| post.id);
        Ok(PostPage { posts: self.with_authors(page.posts).await?, next_after })
    }
}
