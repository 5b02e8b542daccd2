//! Revokes the sessions in the cookies of a browser.

use super::ActingClient;
use rolegate_grpc_client::CallError;
use rolegate_proto::{Reason, auth_v1::RevokeTokensRequest};
use secrecy::{ExposeSecret as _, SecretString};

impl ActingClient {
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
        match self.send(request).await {
            Ok(response) => Ok(response.cookie_sessions_ended),
            Err(error) if error.reason() == Some(Reason::TokenInvalid) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
