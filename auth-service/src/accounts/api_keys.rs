//! Creates, lists and deletes API keys.

use super::{authorize::Requirement, error::AccountError, service::Accounts};
use crate::{
    api_key::{self, ApiKey, GeneratedKey},
    audit::{By, Change, Write},
    metrics,
    store::{NewApiKey, Writer},
};
use rolegate_proto::Role;
use secrecy::SecretString;
use std::sync::Arc;

/// A key to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiKeyRequest {
    /// As its user names it.
    pub name: String,
    /// The highest role that it grants: `None` for the user's, `Some(None)` for an unknown one.
    pub role: Option<Option<Role>>,
    /// When it ends, in Unix seconds; `None` for never.
    pub expires_at: Option<i64>,
}

/// Which keys of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySelection {
    /// The one with this id.
    One(i64),
    /// Every one.
    All,
}

impl Accounts {
    /// Creates a key of the bearer of an access token, and returns the key itself with what is stored
    /// of it. A leaked key cannot make keys that outlive it, nor can a token that is revoked meanwhile.
    pub async fn create_api_key(
        &self,
        access_token: &str,
        request: ApiKeyRequest,
    ) -> Result<(SecretString, ApiKey), AccountError> {
        let any = Requirement::AnyAuthenticated;
        let actor = self.authorize_actor(access_token, &any).await?;
        let created_at = actor.at;
        let user = actor.without_key()?.user;
        api_key::check_name(&request.name)?;
        let expires_at = request.expires_at.map(|at| api_key::check_expiry(at, created_at));
        let expires_at = expires_at.transpose()?;
        let role = request.role.map(|role| role.ok_or(AccountError::RoleInvalid)).transpose()?;
        let generated = api_key::generate();
        let GeneratedKey { key, prefix, digest } =
            generated.map_err(|error| AccountError::Internal(Box::new(error)))?;
        let (user_id, name) = (user.id, request.name);
        let new = NewApiKey { user_id, name, prefix, digest, role, created_at, expires_at };
        let (store, owner) =
            (Arc::clone(&self.store), Writer::Owner { seen: user.tokens_not_before });
        let write = Write { change: Change::ApiKeyCreated, by: By::Owner, user_id: Some(user_id) };
        let insert = async move { store.insert_key(new, owner).await };
        let record = move |write: &Write, key: &ApiKey| {
            write.record_key(key, Some(&user.username));
            metrics::API_KEYS_CREATED.inc();
        };
        let inserted = write.run(insert, record).await;
        let revoked = AccountError::TokenInvalid;
        Ok((key, self.or_reauthorize(inserted, access_token, &any, revoked).await?))
    }

    /// The keys of the actor, or of the user with this id, for an admin.
    pub async fn list_api_keys(
        &self,
        actor: &str,
        user_id: Option<i64>,
    ) -> Result<Vec<ApiKey>, AccountError> {
        let user = match user_id {
            Some(id) => self.get_user(actor, id).await?,
            None => self.authorize(actor, &Requirement::AnyAuthenticated).await?,
        };
        Ok(self.store.keys_of_user(user.id).await?)
    }

    /// Deletes keys of the actor, or of the user with this id, for an admin. A leaked key can, of its own
    /// user's keys, only delete itself.
    pub async fn delete_api_keys(
        &self,
        actor: &str,
        user_id: Option<i64>,
        selection: KeySelection,
    ) -> Result<Vec<ApiKey>, AccountError> {
        let actor = self.authorize_actor(actor, &Requirement::of_user_or_admin(user_id)).await?;
        let is_own = user_id.is_none_or(|id| id == actor.user.id);
        if is_own && actor.key_id.is_some_and(|own| selection != KeySelection::One(own)) {
            return Err(AccountError::RoleInsufficient);
        }
        let (admin, id) = (user_id.map(|_| actor.user.id), user_id.unwrap_or(actor.user.id));
        let key_id = if let KeySelection::One(id) = selection { Some(id) } else { None };
        let store = Arc::clone(&self.store);
        let delete = async move { store.delete_keys(admin, id, key_id).await };
        let record = |write: &Write, keys: &Vec<ApiKey>| {
            for key in keys {
                write.record_key(key, None);
            }
        };
        let keys = Write::by_actor(actor, Change::ApiKeyDeleted, id).run(delete, record).await?;
        if keys.is_empty() && key_id.is_some() {
            return Err(AccountError::ApiKeyNotFound);
        }
        Ok(keys)
    }
}
