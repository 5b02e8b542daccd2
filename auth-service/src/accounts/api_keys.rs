//! Creates, lists and deletes API keys.

use super::{authorize::Requirement, error::AccountError, service::Accounts};
use crate::{
    api_key::{self, ApiKey, GeneratedKey},
    audit::{By, Change, Write},
    metrics,
    store::{NewApiKey, Writer},
};
use rolegate_proto::{Reason, Role, has_invisible, is_emoji};
use secrecy::SecretString;
use std::sync::Arc;

/// 10000-01-01T00:00:00Z, the first time that RFC 3339 cannot write.
const MAX_TIME: u64 = 253_402_300_800;

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
        check_key_name(&request.name)?;
        let expires_at = request.expires_at.map(|at| check_key_expiry(at, created_at));
        let expires_at = expires_at.transpose()?;
        let role = request.role.map(|role| role.ok_or(Reason::RoleInvalid)).transpose()?;
        let GeneratedKey { key, prefix, digest } =
            api_key::generate().map_err(AccountError::internal)?;
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
        let revoked = Reason::TokenInvalid;
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

    /// Deletes the key with this id, or without one all keys, of the actor, or of the user with this id, for
    /// an admin. A leaked key can, of its own user's keys, only delete itself.
    pub async fn delete_api_keys(
        &self,
        actor: &str,
        user_id: Option<i64>,
        key_id: Option<i64>,
    ) -> Result<Vec<ApiKey>, AccountError> {
        let actor = self.authorize_actor(actor, &Requirement::of_user_or_admin(user_id)).await?;
        let is_own = user_id.is_none_or(|id| id == actor.user.id);
        if is_own && actor.key_id.is_some_and(|own| key_id != Some(own)) {
            return Err(Reason::RoleInsufficient.into());
        }
        let (admin, id) = (user_id.map(|_| actor.user.id), user_id.unwrap_or(actor.user.id));
        let store = Arc::clone(&self.store);
        let delete = async move { store.delete_keys(admin, id, key_id).await };
        let record = |write: &Write, keys: &Vec<ApiKey>| {
            for key in keys {
                write.record_key(key, None);
            }
        };
        let keys = Write::by_actor(actor, Change::ApiKeyDeleted, id).run(delete, record).await?;
        if keys.is_empty() && key_id.is_some() {
            return Err(Reason::ApiKeyNotFound.into());
        }
        Ok(keys)
    }
}

/// Checks the rules of a new key's name, which is one line that looks like no other name.
pub(crate) fn check_key_name(name: &str) -> Result<(), AccountError> {
    if name.is_empty() || name.chars().nth(100).is_some() {
        Err(broken("API key name must have 1 to 100 characters."))
    } else if name.chars().any(char::is_control) {
        Err(broken("API key name must not contain control characters."))
    } else if name.trim() != name {
        Err(broken("API key name must not begin or end with white space."))
    } else if has_invisible(name, is_emoji) {
        Err(broken("API key name must not contain invisible or unassigned characters."))
    } else {
        Ok(())
    }
}

/// Checks when a new key ends, in Unix seconds.
pub(crate) fn check_key_expiry(expires_at: i64, now: u64) -> Result<u64, AccountError> {
    match u64::try_from(expires_at) {
        Ok(time) if time >= MAX_TIME => {
            Err(broken("API key expiry must be before the year 10000."))
        }
        Ok(time) if time > now => Ok(time),
        _ => Err(broken("API key expiry must be in the future.")),
    }
}

fn broken(rule: &'static str) -> AccountError {
    AccountError::Invalid(Reason::ApiKeyInvalid, rule)
}
