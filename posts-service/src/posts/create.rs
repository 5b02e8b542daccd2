//! The use case of `CreatePost`.

use super::{PostContent, PostError, Posts};
use crate::{
    audit::{self, PostAction},
    post::PostWithAuthor,
    store::NewPost,
};
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::sync::Arc;

impl Posts {
    /// Creates a post of the actor.
    pub async fn create(
        &self,
        actor: &SecretString,
        title: String,
        content: String,
    ) -> Result<PostWithAuthor, PostError> {
        let writer = self.require_writer(actor).await?;
        let content = PostContent::new(title, content)?;
        let new = NewPost { author_id: writer.id, content, now: self.clock.unix_millis() };
        let store = Arc::clone(&self.store);
        let written = RequestContext::run_to_completion(async move {
            let inserted = store.insert(new).await;
            let created = PostAction::Created;
            let post = audit::unknown_recorded(inserted, created, &writer, None)?;
            audit::record(created, &writer, post.id, post.author_id);
            Ok(PostWithAuthor { post, author: Some(writer.username) })
        });
        written.await
    }
}
