//! Authorization: who may write which posts.

use super::{PostError, Posts};
use crate::store::PostSelector;
use rolegate_auth_client::{CallContext, Requirement, Role, User};
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;

impl Posts {
    /// The user of the token, whose stored role must be author or admin.
    pub(super) async fn require_writer(&self, actor: &SecretString) -> Result<User, PostError> {
        let writers = Requirement::Roles(&[Role::Author, Role::Admin]);
        Ok(self.auth.authorize(actor, writers, call_context()).await?)
    }

    /// Why a write matched no post. The statement selects by id and author at once; this only tells
    /// the two reasons apart afterwards.
    pub(super) async fn denial_reason(
        &self,
        selector: PostSelector,
    ) -> Result<PostError, PostError> {
        let author = self.store.author_of(selector.id).await?;
        // A post of the writer itself was created after the statement ran.
        let is_other_author = author.is_some_and(|author| selector.author_id != Some(author));
        Ok(if is_other_author { PostError::NotOwner } else { PostError::NotFound })
    }
}

/// The post `id`, if `writer` may write it: an admin any post, an author their own.
pub(super) fn writable_by(writer: &User, id: i64) -> PostSelector {
    PostSelector { id, author_id: (writer.role != Role::Admin).then_some(writer.id) }
}

/// Passes the client address and the request id on to auth-service. A batch of several requests has
/// no id of its own.
pub(super) fn call_context() -> CallContext {
    let request_id = RequestContext::with_current(|current| {
        current.request_id.to_str().ok().and_then(|id| id.parse().ok())
    });
    CallContext {
        client_address: RequestContext::client_address(),
        request_id: request_id.flatten(),
    }
}
