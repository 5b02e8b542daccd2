//! Who acts, and which posts they may write.

use super::{PostError, Posts};
use crate::store::PostSelector;
use rolegate_auth_client::{CallContext, Requirement, Role, User};
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;

impl Posts {
    /// The bearer of the token, who must be an author or an admin by the role stored now.
    pub(super) async fn require_writer(&self, actor: &SecretString) -> Result<User, PostError> {
        let writers = Requirement::Roles(&[Role::Author, Role::Admin]);
        Ok(self.auth.authorize(actor, writers, context()).await?)
    }

    /// Why there is no such post for this writer. What is written is chosen by id and author in one
    /// statement; this only tells the two reasons apart, after it.
    pub(super) async fn denial_reason(
        &self,
        selector: PostSelector,
    ) -> Result<PostError, PostError> {
        let author = self.store.author_of(selector.id).await?;
        // One of the writer's own did not exist when the statement looked.
        let is_another_s = author.is_some_and(|author| selector.author_id != Some(author));
        Ok(if is_another_s { PostError::NotOwner } else { PostError::NotFound })
    }
}

/// What this writer may choose by the id: an admin any post, an author their own.
pub(super) fn selector(writer: &User, id: i64) -> PostSelector {
    PostSelector { id, author_id: (writer.role != Role::Admin).then_some(writer.id) }
}

/// For whom auth-service is asked, so that its log lines carry the id of the request. A batch of many
/// requests has no id of its own.
pub(super) fn context() -> CallContext {
    let request_id = RequestContext::with_current(|current| {
        current.request_id.to_str().ok().and_then(|id| id.parse().ok())
    });
    CallContext {
        client_address: RequestContext::client_address(),
        request_id: request_id.flatten(),
    }
}
