//! Revokes the access tokens of a user: a logout, or for an admin.

use super::{AccountError, Accounts, Requirement, authorize::ActsBy, unknown_outcome::audited};
use crate::{
    audit::{self, Event},
    store::{ActorError, Revoker},
    user::User,
};
use rolegate_proto::Role;
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;

impl Accounts {
    /// Revokes every access token of the actor, or of the user with this id, for an admin. Tokens of
    /// logins that were answered before this call are refused once it is answered, on every replica;
    /// those of later logins are good. API keys stay, and cannot log their user out.
    pub async fn revoke_tokens(
        &self,
        access_token: &str,
        user_id: Option<i64>,
    ) -> Result<User, AccountError> {
        let requirement = match user_id {
            Some(_) => Requirement::Roles(vec![Role::Admin]),
            None => Requirement::AnyAuthenticated,
        };
        let actor = self.authorize_actor(access_token, &requirement).await?;
        let (id, by) = match (user_id, actor.by) {
            (None, ActsBy::Token { issued }) => (actor.user.id, Revoker::Bearer { issued }),
            (None, ActsBy::Key(_)) => return Err(AccountError::RoleInsufficient),
            (Some(id), _) => {
                actor.may_change(id)?;
                (id, Revoker::Admin(actor.user.id))
            }
        };
        let store = Arc::clone(&self.store);
        let revoked = RequestContext::run_to_completion(async move {
            let revoked = store.revoke_tokens(by, id).await;
            let user = audited(revoked, "tokens_revoked", Some(actor.user.id), Some(id))?;
            if let Some(user) = &user {
                audit::record(Event::TokensRevoked { actor: &actor, user });
            }
            Ok::<_, ActorError>(user)
        });
        if let Some(user) = revoked.await? {
            return Ok(user);
        }
        // Another logout was first, or the user was deleted.
        self.authorize(access_token, &requirement).await?;
        Err(AccountError::UserNotFound)
    }
}
