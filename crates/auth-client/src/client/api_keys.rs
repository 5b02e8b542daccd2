//! Calls about API keys, and the end of access tokens.

use super::AuthClient;
use crate::{ApiKey, ApiKeyInput, ApiKeySelection, Client, User};
use rolegate_grpc_client::{
    CallContext, CallError, READ_TIMEOUT, authenticated_request, call, read,
};
use rolegate_proto::auth_v1::{
    self, CreateApiKeyRequest, DeleteApiKeysRequest, ListApiKeysRequest, RevokeTokensRequest,
};
use secrecy::SecretString;

/// In every call that takes `user_id`, `None` is the bearer of `actor`; with an id, `actor` must be an
/// admin's.
impl AuthClient {
    /// Ends every access token of a user. Tokens of logins after the response are good.
    pub async fn revoke_tokens(
        &self,
        actor: &SecretString,
        user_id: Option<i64>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let request = authenticated_request(RevokeTokensRequest { user_id }, actor, context)?;
        let response = call(READ_TIMEOUT, &self.0.client, request, Client::revoke_tokens).await?;
        User::try_from_response(response.user)
    }

    /// Creates an API key of the bearer of an access token. Returns the key, which auth-service does not
    /// keep, and what it keeps.
    pub async fn create_api_key(
        &self,
        access_token: &SecretString,
        input: ApiKeyInput,
        context: CallContext,
    ) -> Result<(SecretString, ApiKey), CallError> {
        let role = |role: Option<_>| role.map_or(auth_v1::Role::Unspecified.into(), i32::from);
        let message = CreateApiKeyRequest {
            name: input.name,
            role: input.role.map(role),
            expires_at: input.expires_at.map(Into::into),
        };
        let request = authenticated_request(message, access_token, context)?;
        let response = call(READ_TIMEOUT, &self.0.client, request, Client::create_api_key).await?;
        let api_key = response.api_key.ok_or(CallError::Malformed)?.try_into()?;
        Ok((response.key.into(), api_key))
    }

    /// Lists the API keys of a user by ascending id.
    pub async fn list_api_keys(
        &self,
        actor: &SecretString,
        user_id: Option<i64>,
        context: CallContext,
    ) -> Result<Vec<ApiKey>, CallError> {
        let request = authenticated_request(ListApiKeysRequest { user_id }, actor, context)?;
        let response = read(READ_TIMEOUT, &self.0.client, request, Client::list_api_keys).await?;
        response.api_keys.into_iter().map(TryInto::try_into).collect()
    }

    /// Deletes API keys of a user and returns them.
    pub async fn delete_api_keys(
        &self,
        actor: &SecretString,
        user_id: Option<i64>,
        selection: ApiKeySelection,
        context: CallContext,
    ) -> Result<Vec<ApiKey>, CallError> {
        let message = DeleteApiKeysRequest { user_id, keys: Some(selection.into()) };
        let request = authenticated_request(message, actor, context)?;
        let response = call(READ_TIMEOUT, &self.0.client, request, Client::delete_api_keys).await?;
        response.api_keys.into_iter().map(TryInto::try_into).collect()
    }
}
