//! Creates API keys.

use super::{ActingClient, users::role_number};
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1::{ApiKey, CreateApiKeyRequest};
use secrecy::SecretString;

impl ActingClient {
    /// Creates an API key for a user. The bearer's own credential must not be an API key. Only the name of the role
    /// in the request is read, not its number. Returns the key, which auth-service does not store, and its stored
    /// properties.
    pub async fn create_api_key(
        &self,
        mut request: CreateApiKeyRequest,
    ) -> Result<(SecretString, ApiKey), CallError> {
        let user_id = request.user_id;
        let has_groups = request.groups.is_some();
        request.role = request.role_name.as_deref().map(role_number);
        let response = self.call(request).await?;
        let api_key = response.api_key.ok_or(CallError::Malformed)?;
        // An auth-service of the previous release ignores the user id. The key would then belong to the
        // bearer, who is an admin.
        if user_id.is_some_and(|id| id != api_key.user_id) {
            return Err(CallError::Malformed);
        }
        // It also ignores the groups. The key would then have all groups of its user.
        if has_groups != api_key.groups.is_some() {
            return Err(CallError::Malformed);
        }
        Ok((response.key.into(), api_key))
    }
}
