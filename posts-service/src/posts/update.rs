//! Changing a post.

use super::{PostContent, PostError, Posts, access::selector};
use crate::{
    audit::{self, PostAction},
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
        let writer = self.require_writer(actor).await?;
        let selector = selector(&writer, id);
        let content = match PostContent::new(title, content) {
            Ok(content) => content,
            // Whether there is such a post, and whose it is, comes before what is to stand in it.
            Err(rule) => {
                let author = self.store.author_of(id).await?.ok_or(PostError::NotFound)?;
                let may = selector.author_id.is_none_or(|only| only == author);
                return Err(if may { rule.into() } else { PostError::NotOwner });
            }
        };
        let update = PostUpdate { content, now: self.clock.unix_millis() };
        match self.write(&writer, selector, update).await? {
            Some(post) if post.author_id == writer.id => {
                Ok(PostWithAuthor { post, author: Some(writer.username) })
            }
            Some(post) => self.with_author(post).await,
            None => Err(self.denial_reason(selector).await?),
        }
    }

    async fn write(
        &self,
        writer: &User,
        selector: PostSelector,
        update: PostUpdate,
    ) -> Result<Option<Post>, StoreError> {
        let (store, writer) = (Arc::clone(&self.store), writer.clone());
        let written = RequestContext::run_to_completion(async move {
            let updated = store.update(selector, update).await?;
            if let Some(post) = &updated {
                audit::record(PostAction::Updated, &writer, post.id, post.author_id);
            }
            Ok(updated)
        });
        written.await
    }
}
