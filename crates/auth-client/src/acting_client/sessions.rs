//! Lists and revokes sessions, and revokes access tokens.

use super::{ActingClient, convert_all};
use crate::{connections::Client, session::Session, user::User};
use rolegate_grpc_client::CallError;
use rolegate_proto::{
    Reason,
    auth_v1::{
        AllSessions, DeleteSessionsRequest, ListSessionsRequest, RevokeTokensRequest,
        delete_sessions_request::Sessions,
    },
};
use secrecy::{ExposeSecret as _, SecretString};

impl ActingClient {
    /// Lists the sessions of a user by ascending id.
    pub async fn list_sessions(&self, user_id: Option<i64>) -> Result<Vec<Session>, CallError> {
        let request = ListSessionsRequest { user_id };
        let response = self.read(request, Client::list_sessions).await?;
        convert_all(response.sessions)
    }

    /// Revokes the session with this id or, without an id, all sessions of the user except the one that makes
    /// the call. Returns the revoked sessions.
    pub async fn delete_sessions(
        &self,
        user_id: Option<i64>,
        session_id: Option<i64>,
    ) -> Result<Vec<Session>, CallError> {
        let sessions = match session_id {
            Some(id) => Sessions::SessionId(id),
            None => Sessions::All(AllSessions {}),
        };
        let request = DeleteSessionsRequest {
            user_id,
            sessions: Some(sessions),
        };
        let response = self.call(request, Client::delete_sessions).await?;
        convert_all(response.sessions)
    }

    /// Revokes every access token and session of a user. If the bearer's credential is a session and `user_id`
    /// is `None`, only that session is revoked. Tokens from logins after the response are valid.
    pub async fn revoke_tokens(&self, user_id: Option<i64>) -> Result<User, CallError> {
        let request = RevokeTokensRequest {
            user_id,
            ..RevokeTokensRequest::default()
        };
        let response = self.call(request, Client::revoke_tokens).await?;
        User::try_from_response(response.user)
    }

    /// Revokes the sessions from the cookies of a browser: the bearer's own session, and `sessions`. Returns
    /// whether auth-service has revoked all of `sessions`, because a previous release reads only the credential
    /// of the call. An invalid session is not an error, because it was revoked, has expired or never existed.
    pub(crate) async fn end_cookie_sessions(
        &self,
        sessions: &[SecretString],
        with_pairs: bool,
    ) -> Result<bool, CallError> {
        let tokens = sessions.iter();
        let request = RevokeTokensRequest {
            user_id: None,
            with_pairs,
            from_cookie: true,
            cookie_sessions: tokens
                .map(|token| token.expose_secret().to_owned())
                .collect(),
        };
        match self.call(request, Client::revoke_tokens).await {
            Ok(response) => Ok(response.cookie_sessions_ended),
            Err(error) if error.reason() == Some(Reason::TokenInvalid) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
