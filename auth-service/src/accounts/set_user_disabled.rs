//! Disables or enables a user, for an admin.

use super::{AccountError, Accounts, unknown_outcome::audited};
use crate::{
    audit::{self, Event},
    store::ActorError,
    user::User,
};
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;

impl Accounts {
    /// Disables or enables a user; the actor must be an admin. Every read of the user sees it, so each
    /// credential is refused from the next request on. Tokens issued before stay revoked when the user
    /// is enabled again: a thief may still have one.
    pub async fn set_user_disabled(
        &self,
        actor: &str,
        user_id: i64,
        disabled: bool,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_admin(actor).await?;
        actor.may_change(user_id)?;
        let store = Arc::clone(&self.store);
        let set = RequestContext::run_to_completion(async move {
            let set = store.set_disabled(Some(actor.user.id), user_id, disabled).await;
            let change = if disabled { "user_disabled" } else { "user_enabled" };
            let user = audited(set, change, Some(actor.user.id), Some(user_id))?;
            if let Some(user) = &user {
                audit::record(Event::UserDisabled { actor: &actor, user });
            }
            Ok::<_, ActorError>(user)
        });
        set.await?.ok_or(AccountError::UserNotFound)
    }
}
