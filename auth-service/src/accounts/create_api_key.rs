//! Creates an API key.

use super::{AccountError, Accounts, Requirement, unknown_outcome::audited};
use crate::{
    api_key::{self, ApiKey, GeneratedKey},
    audit::{self, Event},
    metrics,
    store::{InsertKeyError, NewApiKey},
};
use rolegate_proto::Role;
use rolegate_telemetry::request_context::RequestContext;
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

impl Accounts {
    /// Creates a key of the bearer of an access token, and returns the key itself with what is stored
    /// of it. A key cannot make keys: who finds one must not be able to outlive it.
    pub async fn create_api_key(
        &self,
        access_token: &str,
        request: ApiKeyRequest,
    ) -> Result<(SecretString, ApiKey), AccountError> {
        let actor = self.authorize_actor(access_token, &Requirement::AnyAuthenticated).await?;
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
        let store = Arc::clone(&self.store);
        let inserted = RequestContext::run_to_completion(async move {
            let inserted = store.insert_key(new).await;
            let api_key = audited(inserted, "api_key_created", Some(user.id), Some(user.id))?;
            audit::record(Event::ApiKeyCreated { user: &user, key_id: api_key.id });
            metrics::API_KEYS_CREATED.inc();
            Ok::<_, InsertKeyError>(api_key)
        });
        Ok((key, inserted.await?))
    }
}
