//! Deleting a post.

use super::{PostError, Posts, actor::target};
use crate::audit::{self, Act};
use secrecy::SecretString;
use service_runtime::request_context::RequestContext;
use sql_store::StoreError;
use std::sync::Arc;

impl Posts {
    /// Deletes a post for good.
    pub async fn delete(&self, actor: &SecretString, id: i64) -> Result<(), PostError> {
        let writer = self.writer(actor).await?;
        let target = target(&writer, id);
        let store = Arc::clone(&self.store);
        let deleted = RequestContext::to_the_end(async move {
            let author_id = store.delete(target).await?;
            if let Some(author_id) = author_id {
                audit::tell(Act::Deleted, &writer, id, author_id);
            }
            Ok::<_, StoreError>(author_id.is_some())
        });
        if deleted.await? { Ok(()) } else { Err(self.why_not(target).await?) }
    }
}
