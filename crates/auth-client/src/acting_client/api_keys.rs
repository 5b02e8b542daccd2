//! Creates API keys.

use super::{ActingClient, users::RoleFields};
use crate::connections::Client;
use rolegate_grpc_client::CallError;
use rolegate_proto::{
    Role,
    auth_v1::{ApiKey, CreateApiKeyRequest},
};
use secrecy::SecretString;
use std::time::SystemTime;

/// The properties of a key to create, which auth-service validates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiKeyInput {
    /// The name, of 1 to 100 characters.
    pub name: String,
    /// The highest role that the key grants; `None` for the role of its user. `Some(None)` stands for a
    /// malformed name, which auth-service rejects.
    pub role: Option<Option<Role>>,
    /// The time at which the key expires; `None` if it never expires.
    pub expires_at: Option<SystemTime>,
}

impl ActingClient {
    /// Creates an API key for a user. The bearer's own credential must not be an API key. Returns the key,
    /// which auth-service does not store, and its stored properties.
    pub async fn create_api_key(
        &self,
        user_id: Option<i64>,
        input: ApiKeyInput,
    ) -> Result<(SecretString, ApiKey), CallError> {
        let role = input.role.map(RoleFields::new);
        let request = CreateApiKeyRequest {
            name: input.name,
            role: role.as_ref().map(|role| role.number),
            expires_at: input.expires_at.map(Into::into),
            role_name: role.map(|role| role.name),
            user_id,
        };
        let response = self.call(request, Client::create_api_key).await?;
        let api_key = response.api_key.ok_or(CallError::Malformed)?;
        // An auth-service of the previous release ignores the user id. The key would then belong to the
        // bearer, who is an admin.
        if user_id.is_some_and(|id| id != api_key.user_id) {
            return Err(CallError::Malformed);
        }
        Ok((response.key.into(), api_key))
    }
}
