//! The calls that create, list and delete API keys.

use super::{AuthGrpc, RpcResult, message::optional_role};
use crate::{
    accounts::{AccountError, ApiKeyRequest},
    change::TokenSelection,
    tokens::TokenKind,
};
use rolegate_grpc_server::Call;
use rolegate_proto::auth_v1::{self as wire, delete_api_keys_request::Keys};
use secrecy::ExposeSecret as _;
use std::sync::Arc;

impl AuthGrpc {
    pub(super) async fn create_api_key(
        self: Arc<Self>,
        call: Call,
        message: wire::CreateApiKeyRequest,
    ) -> RpcResult<wire::CreateApiKeyResponse> {
        let new = ApiKeyRequest {
            user_id: message.user_id,
            name: message.name,
            role: optional_role(message.role_name, message.role),
            groups: message.groups.map(|groups| groups.names),
            expires_at: message.expires_at.map(|time| time.seconds),
        };
        let created = self
            .services
            .users
            .create_api_key(call.credential(), new)
            .await?;
        Ok(wire::CreateApiKeyResponse {
            key: created.key.expose_secret().to_owned(),
            api_key: Some(created.stored.into()),
        })
    }

    pub(super) async fn list_api_keys(
        self: Arc<Self>,
        call: Call,
        message: wire::ListApiKeysRequest,
    ) -> RpcResult<wire::ListApiKeysResponse> {
        let keys = self
            .services
            .users
            .list_api_keys(call.credential(), message.user_id)
            .await?;
        let api_keys = keys.into_iter().map(Into::into).collect();
        Ok(wire::ListApiKeysResponse { api_keys })
    }

    pub(super) async fn delete_api_keys(
        self: Arc<Self>,
        call: Call,
        message: wire::DeleteApiKeysRequest,
    ) -> RpcResult<wire::DeleteApiKeysResponse> {
        let keys = match message.keys {
            Some(Keys::KeyId(id)) => TokenSelection::One(id),
            Some(Keys::All(_)) => TokenSelection::All,
            None => {
                return Err(AccountError::invalid_request(
                    "say which keys: key_id or all",
                ));
            }
        };
        let keys = self
            .services
            .users
            .delete_tokens(TokenKind::ApiKey, call.credential(), message.user_id, keys)
            .await?;
        let api_keys = keys.into_iter().map(Into::into).collect();
        Ok(wire::DeleteApiKeysResponse { api_keys })
    }
}
