//! The calls that list and end sessions, and revoke access tokens.

use super::{AuthGrpc, RpcResult, message::timestamp};
use crate::{
    accounts::AccountError,
    change::{SessionEnd, TokenSelection},
    tokens::{OpaqueToken, TokenKind},
};
use rolegate_grpc_server::Call;
use rolegate_proto::auth_v1::{self as wire, delete_sessions_request::Sessions};
use std::sync::Arc;

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
        self: Arc<Self>,
        call: Call,
        message: wire::RevokeTokensRequest,
    ) -> RpcResult<wire::RevokeTokensResponse> {
        let users = &self.services.users;
        let cookie_sessions = message.cookie_sessions;
        let user = match (
            message.user_id,
            message.from_cookie,
            cookie_sessions.is_empty(),
        ) {
            (user_id, false, true) => Some(users.revoke_tokens(call.credential(), user_id).await?),
            (None, true, true) => Some(users.end_cookie_session(call.credential()).await?),
            (None, true, false) => {
                let extent = if message.with_pairs {
                    SessionEnd::WithPairs
                } else {
                    SessionEnd::Alone
                };
                users.end_cookie_sessions(&cookie_sessions, extent).await?;
                None
            }
            _ => {
                return Err(AccountError::invalid_request(
                    "from_cookie ends only its session",
                ));
            }
        };
        Ok(wire::RevokeTokensResponse {
            cookie_sessions_ended: user.is_none(),
            user: user.map(Into::into),
        })
    }

    pub(super) async fn list_sessions(
        self: Arc<Self>,
        call: Call,
        message: wire::ListSessionsRequest,
    ) -> RpcResult<wire::ListSessionsResponse> {
        let listed = self
            .services
            .users
            .list_sessions(call.credential(), message.user_id)
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
        self: Arc<Self>,
        call: Call,
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
            .users
            .delete_tokens(
                TokenKind::Session,
                call.credential(),
                message.user_id,
                sessions,
            )
            .await?;
        let sessions = ended
            .into_iter()
            .map(|session| self.session_message(session, None))
            .collect();
        Ok(wire::DeleteSessionsResponse { sessions })
    }
}
