//! Reading posts by id, and the names of their authors.

use super::{PostError, Posts, access::context};
use crate::post::{Post, PostWithAuthor};
use rolegate_proto::limits::MAX_POST_BATCH;

impl Posts {
    /// The post with this id.
    pub async fn read(&self, id: i64) -> Result<PostWithAuthor, PostError> {
        let post = self.reads.get(id).await?.ok_or(PostError::NotFound)?;
        self.with_author(post).await
    }

    /// Those of these posts that there are, each once, in no particular order.
    pub async fn read_all(&self, ids: &[i64]) -> Result<Vec<PostWithAuthor>, PostError> {
        if ids.len() > MAX_POST_BATCH {
            return Err(PostError::RequestInvalid("a batch has at most 64 posts"));
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.with_authors(self.store.posts_by_id(ids).await?).await
    }

    /// Adds the name that its author has now.
    pub(super) async fn with_author(&self, post: Post) -> Result<PostWithAuthor, PostError> {
        let mut names = self.auth.get_usernames(&[post.author_id], context()).await?;
        Ok(PostWithAuthor { author: names.remove(&post.author_id), post })
    }

    /// The same for many, of whom many may have the same author.
    pub(super) async fn with_authors(
        &self,
        posts: Vec<Post>,
    ) -> Result<Vec<PostWithAuthor>, PostError> {
        let mut authors: Vec<i64> = posts.iter().map(|post| post.author_id).collect();
        authors.sort_unstable();
        authors.dedup();
        let names = self.auth.get_usernames(&authors, context()).await?;
        let with_author =
            |post: Post| PostWithAuthor { author: names.get(&post.author_id).cloned(), post };
        Ok(posts.into_iter().map(with_author).collect())
    }
}
