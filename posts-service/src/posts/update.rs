//! Changing a post.

use super::{Draft, PostError, Posts, actor::target};
use crate::{post::SignedPost, store::Change};
use secrecy::SecretString;

impl Posts {
    /// Replaces title and content. Its author stays who it was.
    pub async fn update(
        &self,
        actor: &SecretString,
        id: i64,
        title: String,
        content: String,
    ) -> Result<SignedPost, PostError> {
        let writer = self.writer(actor).await?;
        let target = target(&writer, id);
        let draft = match Draft::new(title, content) {
            Ok(draft) => draft,
            // Whether there is such a post, and whose it is, comes before what is to stand in it.
            Err(rule) => {
                let author = self.store.author_of(id).await?.ok_or(PostError::NotFound)?;
                let may = target.author_id.is_none_or(|only| only == author);
                return Err(if may { rule.into() } else { PostError::OthersPost });
            }
        };
        let change = Change { draft, now: self.clock.unix_millis() };
        match self.store.update(target, change).await? {
            Some(post) if post.author_id == writer.id => {
                Ok(SignedPost { post, author: Some(writer.username) })
            }
            Some(post) => self.sign(post).await,
            None => Err(self.why_not(target).await?),
        }
    }
}
