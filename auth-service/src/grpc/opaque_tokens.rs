//! The calls that create, list and delete API keys, and those that list and revoke sessions.

use super::{
    AuthGrpc, RpcResult,
    call_origin::Call,
    message::{optional_role, timestamp},
};
use crate::{
    accounts::{AccountError, ApiKeyRequest},
    change::{SessionEnd, TokenSelection},
    tokens::{OpaqueToken, TokenKind},
};
use rolegate_proto::auth_v1::{
    self as wire, delete_api_keys_request::Keys, delete_sessions_request::Sessions,
};
use secrecy::ExposeSecret as _;

impl AuthGrpc {
    /// Converts a session into a message. `current_id` is the id of the session by which the actor acts, if
    /// any.
    pub(super) fn session_message(
        &self,
        session: OpaqueToken,
        current_id: Option<i64>,
    ) -> wire::Session {
        let idle_expires_at = session.idle_expires_at(self.services.policy.sessions.idle);
        let details = session.session().cloned().unwrap_or_default();
        wire::Session {
            id: session.id,
            user_id: session.user_id,
            name: Some(session.name).filter(|name| !name.is_empty()),
            created_at: Some(timestamp(session.created_at)),
            last_used_at: session.last_used_at.map(timestamp),
            client_address: details.client_address,
            user_agent: details.user_agent,
            expires_at: session.expires_at.map(timestamp),
            idle_expires_at: Some(timestamp(idle_expires_at)),
            current: current_id == Some(session.id),
        }
    }

    pub(super) async fn revoke_tokens(
        &self,
        call: &Call,
        message: wire::RevokeTokensRequest,
    ) -> RpcResult<wire::RevokeTokensResponse> {
        let cookie_sessions = message.cookie_sessions;
        let user = match (
            message.user_id,
            message.from_cookie,
            cookie_sessions.is_empty(),
        ) {
            (user_id, false, true) => {
                self.services
                    .credentials
                    .revoke_tokens(call.actor(), user_id)
                    .await?
            }
            (None, true, true) => {
                self.services
                    .credentials
                    .end_cookie_session(call.actor())
                    .await?
            }
            (None, true, false) => {
                let extent = if message.with_pairs {
                    SessionEnd::WithPairs
                } else {
                    SessionEnd::Alone
                };
                self.services
                    .credentials
                    .end_cookie_sessions(&cookie_sessions, extent)
                    .await?;
                return Ok(wire::RevokeTokensResponse {
                    user: None,
                    cookie_sessions_ended: true,
                });
            }
            _ => {
                return Err(AccountError::invalid_request(
                    "from_cookie ends only its session",
                ));
            }
        };
        Ok(wire::RevokeTokensResponse {
            user: Some(user.into()),
            cookie_sessions_ended: false,
        })
    }

    pub(super) async fn create_api_key(
        &self,
        call: &Call,
        message: wire::CreateApiKeyRequest,
    ) -> RpcResult<wire::CreateApiKeyResponse> {
        let new = ApiKeyRequest {
            user_id: message.user_id,
            name: message.name,
            role: optional_role(message.role_name, message.role),
            expires_at: message.expires_at.map(|time| time.seconds),
        };
        let created = self
            .services
            .credentials
            .create_api_key(call.actor(), new)
            .await?;
        Ok(wire::CreateApiKeyResponse {
            key: created.key.expose_secret().to_owned(),
            api_key: Some(created.stored.into()),
        })
    }

    pub(super) async fn list_api_keys(
        &self,
        call: &Call,
        message: wire::ListApiKeysRequest,
    ) -> RpcResult<wire::ListApiKeysResponse> {
        let listed = self
            .services
            .credentials
            .list_tokens(TokenKind::ApiKey, call.actor(), message.user_id)
            .await?;
        let api_keys = listed.tokens.into_iter().map(Into::into).collect();
        Ok(wire::ListApiKeysResponse { api_keys })
    }

    pub(super) async fn delete_api_keys(
        &self,
        call: &Call,
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
            .credentials
            .delete_tokens(TokenKind::ApiKey, call.actor(), message.user_id, keys)
            .await?;
        let api_keys = keys.into_iter().map(Into::into).collect();
        Ok(wire::DeleteApiKeysResponse { api_keys })
    }

    pub(super) async fn list_sessions(
        &self,
        call: &Call,
        message: wire::ListSessionsRequest,
    ) -> RpcResult<wire::ListSessionsResponse> {
        let listed = self
            .services
            .credentials
            .list_sessions(call.actor(), message.user_id)
            .await?;
        let sessions = listed
            .sessions
            .into_iter()
            .map(|session| self.session_message(session, listed.current_id));
        Ok(wire::ListSessionsResponse {
            sessions: sessions.collect(),
        })
    }

    pub(super) async fn delete_sessions(
        &self,
        call: &Call,
        message: wire::DeleteSessionsRequest,
    ) -> RpcResult<wire::DeleteSessionsResponse> {
        let sessions = match message.sessions {
            Some(Sessions::SessionId(id)) => TokenSelection::One(id),
            Some(Sessions::All(_)) => TokenSelection::All,
            None => {
                return Err(AccountError::invalid_request(
                    "say which sessions: session_id or all",
                ));
            }
        };
        let ended = self
            .services
            .credentials
            .delete_tokens(TokenKind::Session, call.actor(), message.user_id, sessions)
            .await?;
        let sessions = ended
            .into_iter()
            .map(|session| self.session_message(session, None))
            .collect();
        Ok(wire::DeleteSessionsResponse { sessions })
    }
}
