//! Deleting a user.

use super::{ADMIN_USERNAME, AccountError, Accounts};
use crate::{
    audit::{self, Event},
    store::ActorError,
    user::User,
};
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;

impl Accounts {
    /// Deletes a user for good, and returns who it was; the actor must be an admin. Nobody deletes
    /// themselves, so the last admin cannot be deleted; and nobody deletes the user named `admin`,
    /// whom the next start would create again with the password of the settings.
    ///
    /// The store holds the actor to the role once more when it writes: of two admins who delete each
    /// other at the same time, the second one is refused.
    pub async fn delete_user(&self, actor: &str, user_id: i64) -> Result<User, AccountError> {
        let actor = self.authorize_admin(actor).await?;
        let user = self.reads.user(user_id).await?.ok_or(AccountError::UserNotFound)?;
        // Neither changes in the life of a user: nothing to look at again when it is deleted.
        if user.id == actor.id || user.username == ADMIN_USERNAME {
            return Err(AccountError::UserNotDeletable);
        }
        let store = Arc::clone(&self.store);
        let deleted = RequestContext::run_to_completion(async move {
            let user = store.delete(actor.id, user_id).await?;
            if let Some(user) = &user {
                audit::record(Event::UserDeleted { actor: &actor, user });
            }
            Ok::<_, ActorError>(user)
        });
        deleted.await?.ok_or(AccountError::UserNotFound)
    }
}
