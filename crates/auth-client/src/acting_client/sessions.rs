//! Sessions, and the end of all access tokens.

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

    /// Ends the session of a user with this id, or without an id all but that of the call; returns what it
    /// ended.
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

    /// Ends every access token and session of a user, and for a bearer by a session only that session.
    /// Logins after the response are good.
    pub async fn revoke_tokens(&self, user_id: Option<i64>) -> Result<User, CallError> {
        let request = RevokeTokensRequest {
            user_id,
            ..RevokeTokensRequest::default()
        };
        let response = self.call(request, Client::revoke_tokens).await?;
        User::try_from_response(response.user)
    }

    /// Ends the sessions from the cookies of a browser: the bearer, and `sessions`. Returns whether all of `sessions`
    /// have ended: an auth-service of the previous release reads only the credential of the call. An invalid session
    /// has ended, or never was one, so it is no error.
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
