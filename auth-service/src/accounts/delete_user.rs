//! Deletes a user.

use super::{ADMIN_USERNAME, AccountError, Accounts, unknown_outcome::audited};
use crate::{
    audit::{self, Event},
    store::ActorError,
    user::User,
};
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;

impl Accounts {
    /// Deletes a user and returns it; the actor must be an admin. Admins cannot delete themselves,
    /// so one always remains, nor the user named `admin`, whom the next start would create again.
    ///
    /// The store checks the actor's role again when it writes: of two admins who delete each other
    /// at the same time, the second is refused.
    pub async fn delete_user(&self, actor: &str, user_id: i64) -> Result<User, AccountError> {
        let actor = self.authorize_admin(actor).await?;
        actor.may_change(user_id)?;
        let user = self.reads.user(user_id).await?.value.ok_or(AccountError::UserNotFound)?;
        // Neither can change, so the store need not check them again.
        if user.id == actor.user.id || user.username == ADMIN_USERNAME {
            return Err(AccountError::UserNotDeletable);
        }
        let store = Arc::clone(&self.store);
        let deleted = RequestContext::run_to_completion(async move {
            let deleted = store.delete(Some(actor.user.id), user_id).await;
            let user = audited(deleted, "user_deleted", Some(actor.user.id), Some(user_id))?;
            if let Some(user) = &user {
                audit::record(Event::UserDeleted { actor: &actor, user });
            }
            Ok::<_, ActorError>(user)
        });
        deleted.await?.ok_or(AccountError::UserNotFound)
    }
}
