//! The use case of `UpdatePost`.

use super::{PostContent, PostError, Posts, access::writable_by};
use crate::{
    audit::{self, PostAction},
    post::PostWithAuthor,
    store::PostUpdate,
};
use rolegate_sql_store::StoreError;
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::sync::Arc;

impl Posts {
    /// Replaces title and content; the author does not change.
    pub async fn update(
        &self,
        actor: &SecretString,
        id: i64,
        title: String,
        content: String,
    ) -> Result<PostWithAuthor, PostError> {
        let writer = self.require_writer(actor).await?;
        let selector = writable_by(&writer, id);
        let content = match PostContent::new(title, content) {
            Ok(content) => content,
            // A missing post and one of another author are reported before invalid content.
            Err(invalid) => {
                let author = self.store.author_of(id).await?.ok_or(PostError::NotFound)?;
                let is_writable = selector.author_id.is_none_or(|only| only == author);
                return Err(if is_writable { invalid.into() } else { PostError::NotOwner });
            }
        };
        let update = PostUpdate { content, now: self.clock.unix_millis() };
        let (store, actor) = (Arc::clone(&self.store), writer.clone());
        let updated = RequestContext::run_to_completion(async move {
            let (updated, action) = (store.update(selector, update).await, PostAction::Updated);
            let updated = audit::unknown_recorded(updated, action, &actor, Some(id))?;
            if let Some(post) = &updated {
                audit::record(action, &actor, post.id, post.author_id);
            }
            Ok::<_, StoreError>(updated)
        });
        match updated.await? {
            Some(post) if post.author_id == writer.id => {
                Ok(PostWithAuthor { post, author: Some(writer.username) })
            }
            Some(post) => self.with_author(post).await,
            None => Err(self.denial_reason(selector).await?),
        }
    }
}
