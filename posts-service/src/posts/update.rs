//! Changing a post.

use super::{Draft, PostError, Posts, actor::target};
use crate::{
    audit::{self, Act},
    post::{Post, PostWithAuthor},
    store::{PostSelector, PostUpdate},
};
use rolegate_auth_client::User;
use rolegate_sql_store::StoreError;
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::sync::Arc;

impl Posts {
    /// Replaces title and content. Its author stays who it was.
    pub async fn update(
        &self,
        actor: &SecretString,
        id: i64,
        title: String,
        content: String,
    ) -> Result<PostWithAuthor, PostError> {
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
        let change = PostUpdate { draft, now: self.clock.unix_millis() };
        match self.change(&writer, target, change).await? {
            Some(post) if post.author_id == writer.id => {
                Ok(PostWithAuthor { post, author: Some(writer.username) })
            }
            Some(post) => self.sign(post).await,
            None => Err(self.why_not(target).await?),
        }
    }

    async fn change(
        &self,
        writer: &User,
        target: PostSelector,
        change: PostUpdate,
    ) -> Result<Option<Post>, StoreError> {
        let (store, writer) = (Arc::clone(&self.store), writer.clone());
        let changed = RequestContext::run_to_completion(async move {
            let changed = store.update(target, change).await?;
            if let Some(post) = &changed {
                audit::tell(Act::Updated, &writer, post.id, post.author_id);
            }
            Ok(changed)
        });
        changed.await
    }
}
