//! Revokes the access tokens of a user: a logout, or for an admin.

use super::{AccountError, Accounts, Requirement, unknown_outcome::audited};
use crate::{
    audit::{self, Event},
    store::ActorError,
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
        actor: &str,
        user_id: Option<i64>,
    ) -> Result<User, AccountError> {
        let requirement = match user_id {
            Some(_) => Requirement::Roles(vec![Role::Admin]),
            None => Requirement::AnyAuthenticated,
        };
        let actor = self.authorize_actor(actor, &requirement).await?;
        if actor.key_id.is_some() && user_id.is_none_or(|id| id == actor.user.id) {
            return Err(AccountError::RoleInsufficient);
        }
        let actor = actor.user;
        let (store, tokens) = (Arc::clone(&self.store), self.tokens.clone());
        let revoked = RequestContext::run_to_completion(async move {
            let (by, id) = (user_id.map(|_| actor.id), user_id.unwrap_or(actor.id));
            let revoked = store.revoke_tokens(by, id, tokens.revocation_time()).await;
            let user = audited(revoked, "tokens_revoked", Some(actor.id), Some(id))?;
            if let Some(user) = &user {
                audit::record(Event::TokensRevoked { actor: &actor, user });
            }
            Ok::<_, ActorError>(user)
        });
        let missing = match user_id {
            Some(_) => AccountError::UserNotFound,
            None => AccountError::TokenUserNotFound,
        };
        revoked.await?.ok_or(missing)
    }
}
