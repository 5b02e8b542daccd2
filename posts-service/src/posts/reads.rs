//! Reads posts, and adds the current usernames of their authors.

use super::{PostError, Posts, call_context};
use crate::{
    post::{DELETED, Post, PostWithAuthor},
    store::{self, PostFilter},
};
use rolegate_proto::limits::{MAX_PAGE_CONTENT_BYTES, MAX_POST_BATCH, page_size};

/// A page of posts with the usernames of their authors.
pub(crate) struct PostList {
    pub(crate) posts: Vec<PostWithAuthor>,
    /// The value of `after` that requests the next page; `None` on the last page.
    pub(crate) next_after: Option<i64>,
}

impl Posts {
    pub(crate) async fn read(&self, id: i64) -> Result<PostWithAuthor, PostError> {
        match self.reads.get(id).await?.value {
            Some(post) => self.with_author(post).await,
            None => Err(PostError::NOT_FOUND),
        }
    }

    /// Returns the total size in bytes of the titles and contents of the posts with these ids. Ids without a post are
    /// ignored. Fails if there are more ids than a batch may have.
    pub(crate) async fn size_of_all(&self, ids: &[i64]) -> Result<usize, PostError> {
        if ids.len() > MAX_POST_BATCH {
            return Err(PostError::request("a batch has at most 64 posts"));
        }
        if ids.is_empty() {
            return Ok(0);
        }
        let size = store::size_by_id(&self.store, ids).await?;
        Ok(usize::try_from(size).unwrap_or_default())
    }

    /// Returns the posts with these ids, each once, in no particular order. Ids without a post are ignored. The number
    /// of ids is not checked here: see [`Self::size_of_all`].
    pub(crate) async fn read_all(&self, ids: &[i64]) -> Result<Vec<PostWithAuthor>, PostError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let posts = store::posts_by_id(&self.store, ids).await?;
        self.with_authors(posts).await
    }

    /// Returns a page of the posts after the id `after`, by ascending id; 0 requests the first page. If `author_id` is
    /// given, the page has only the posts of this author.
    ///
    /// `size` is the field `page_size` of the request, in which 0 means the default.
    pub(crate) async fn list(
        &self,
        size: i32,
        after: i64,
        author_id: Option<i64>,
    ) -> Result<PostList, PostError> {
        let Some(limit) = page_size(size) else {
            return Err(PostError::request("page_size must be 0 to 200"));
        };
        if after < 0 {
            return Err(PostError::request("after must not be negative"));
        }
        let filter = PostFilter {
            after,
            author_id,
            limit: limit.into(),
            content_bytes: MAX_PAGE_CONTENT_BYTES.into(),
        };
        let page = store::page(&self.store, &filter).await?;
        let last_id = page.posts.last().map(|post| post.id);
        Ok(PostList {
            next_after: if page.has_more { last_id } else { None },
            posts: self.with_authors(page.posts).await?,
        })
    }

    /// Returns the post with the current username of its author, which auth-service provides. A post of a deleted
    /// author has no username.
    pub(super) async fn with_author(&self, post: Post) -> Result<PostWithAuthor, PostError> {
        if post.author_id == DELETED {
            return Ok(PostWithAuthor { author: None, post });
        }
        let mut names = self
            .auth
            .get_usernames(&[post.author_id], call_context())
            .await?;
        Ok(PostWithAuthor {
            author: names.remove(&post.author_id),
            post,
        })
    }

    /// Returns the posts with the current usernames of their authors, which one call to auth-service provides.
    async fn with_authors(&self, posts: Vec<Post>) -> Result<Vec<PostWithAuthor>, PostError> {
        let mut authors: Vec<i64> = posts.iter().map(|post| post.author_id).collect();
        authors.retain(|&id| id != DELETED);
        authors.sort_unstable();
        authors.dedup();
        let names = self.auth.get_usernames(&authors, call_context()).await?;
        let with_author = |post: Post| PostWithAuthor {
            author: names.get(&post.author_id).cloned(),
            post,
        };
        Ok(posts.into_iter().map(with_author).collect())
    }
}
