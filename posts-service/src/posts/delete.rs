//! The use case of `DeletePost`.

use super::{PostError, Posts, access::writable_by};
use crate::audit::{self, PostAction};
use rolegate_sql_store::StoreError;
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::sync::Arc;

impl Posts {
    /// Deletes a post permanently.
    pub async fn delete(&self, actor: &SecretString, id: i64) -> Result<(), PostError> {
        let writer = self.require_writer(actor).await?;
        let selector = writable_by(&writer, id);
        let store = Arc::clone(&self.store);
        let deleted = RequestContext::run_to_completion(async move {
            let (deleted, action) = (store.delete(selector).await, PostAction::Deleted);
            let author_id = audit::unknown_recorded(deleted, action, &writer, Some(id))?;
            if let Some(author_id) = author_id {
                audit::record(action, &writer, id, author_id);
            }
            Ok::<_, StoreError>(author_id.is_some())
        });
        if deleted.await? { Ok(()) } else { Err(self.denial_reason(selector).await?) }
    }
}
