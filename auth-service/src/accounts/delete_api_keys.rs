//! Deletes API keys of a user.

use super::{AccountError, Accounts, Requirement, authorize::ActsBy, unknown_outcome::audited};
use crate::{
    api_key::ApiKey,
    audit::{self, Event},
    store::ActorError,
};
use rolegate_proto::Role;
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;

/// Which keys of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySelection {
    /// The one with this id.
    One(i64),
    /// Every one.
    All,
}

impl Accounts {
    /// Deletes keys of the actor, or of the user with this id, for an admin. Of its own user's keys, an
    /// API key may delete only itself: who finds one can end it and nothing else.
    pub async fn delete_api_keys(
        &self,
        actor: &str,
        user_id: Option<i64>,
        selection: KeySelection,
    ) -> Result<Vec<ApiKey>, AccountError> {
        let requirement = match user_id {
            Some(_) => Requirement::Roles(vec![Role::Admin]),
            None => Requirement::AnyAuthenticated,
        };
        let actor = self.authorize_actor(actor, &requirement).await?;
        let is_own = user_id.is_none_or(|id| id == actor.user.id);
        if let (true, ActsBy::Key(own)) = (is_own, actor.by)
            && selection != KeySelection::One(own)
        {
            return Err(AccountError::RoleInsufficient);
        }
        let store = Arc::clone(&self.store);
        let deleted = RequestContext::run_to_completion(async move {
            let (by, id) = (user_id.map(|_| actor.user.id), user_id.unwrap_or(actor.user.id));
            let key_id = match selection {
                KeySelection::One(id) => Some(id),
                KeySelection::All => None,
            };
            let deleted = store.delete_keys(by, id, key_id).await;
            let keys = audited(deleted, "api_key_deleted", Some(actor.user.id), Some(id))?;
            for key in keys.iter().flatten() {
                audit::record(Event::ApiKeyDeleted { actor: &actor, user_id: id, key_id: key.id });
            }
            Ok::<_, ActorError>(keys)
        });
        match (deleted.await?, selection) {
            (None, _) => Err(AccountError::UserNotFound),
            (Some(keys), KeySelection::One(_)) if keys.is_empty() => {
                Err(AccountError::ApiKeyNotFound)
            }
            (Some(keys), _) => Ok(keys),
        }
    }
}
