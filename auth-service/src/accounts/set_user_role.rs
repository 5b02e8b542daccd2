//! Sets the role of a user.

use super::{AccountError, Accounts, unknown_outcome::audited};
use crate::{
    audit::{self, Event},
    store::ActorError,
    user::User,
};
use rolegate_proto::Role;
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;

impl Accounts {
    /// Replaces the role of a user. The contract fixes the order of the checks: the actor's token,
    /// the actor's role, the user, the role (`None` for an unknown one). The store checks the
    /// actor's role again when it writes: of two admins who demote each other at the same time, the
    /// second is refused.
    pub async fn set_user_role(
        &self,
        actor: &str,
        user_id: i64,
        role: Option<Role>,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_admin(actor).await?;
        actor.may_change(user_id)?;
        let before = self.reads.user(user_id).await?.value.ok_or(AccountError::UserNotFound)?;
        let role = role.ok_or(AccountError::RoleInvalid)?;
        let store = Arc::clone(&self.store);
        let set = RequestContext::run_to_completion(async move {
            let set = store.set_role(Some(actor.user.id), user_id, role).await;
            let user = audited(set, "role_changed", Some(actor.user.id), Some(user_id))?;
            if let Some(user) = &user {
                // Concurrent changes may both record the role before either.
                audit::record(Event::RoleChanged { actor: &actor, user, from: before.role });
            }
            Ok::<_, ActorError>(user)
        });
        set.await?.ok_or(AccountError::UserNotFound)
    }
}
