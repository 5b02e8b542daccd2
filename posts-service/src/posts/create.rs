//! Creating a post.

use super::{Draft, PostError, Posts};
use crate::{post::SignedPost, store::NewPost};
use secrecy::SecretString;

impl Posts {
    /// Creates a post whose author is the actor.
    pub async fn create(
        &self,
        actor: &SecretString,
        title: String,
        content: String,
    ) -> Result<SignedPost, PostError> {
        let writer = self.writer(actor).await?;
        let draft = Draft::new(title, content)?;
        let new = NewPost { author_id: writer.id, draft, now: self.clock.unix_millis() };
        let post = self.store.insert(new).await?;
        Ok(SignedPost { post, author: Some(writer.username) })
    }
}
