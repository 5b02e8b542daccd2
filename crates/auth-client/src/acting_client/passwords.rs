//! Changes passwords, and creates links by which users choose them.

use super::ActingClient;
use crate::response_time::required_time;
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1::{
    self, ChangePasswordRequest, CreatePasswordLinkRequest, SetPasswordRequest,
};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::SystemTime;

/// The token of a link by which a user chooses a password. auth-service stores only a digest of the token.
#[derive(Clone, Debug)]
pub struct PasswordLink {
    /// The token: `rgl_` and 43 base64url characters.
    pub token: SecretString,
    /// The time at which the link expires unless it is used before, in whole seconds.
    pub expires_at: SystemTime,
}

impl TryFrom<auth_v1::PasswordLink> for PasswordLink {
    type Error = CallError;

    fn try_from(link: auth_v1::PasswordLink) -> Result<Self, CallError> {
        Ok(Self {
            token: link.token.into(),
            expires_at: required_time(link.expires_at)?,
        })
    }
}

impl ActingClient {
    /// Replaces the password of the bearer, given the current one. Revokes the user's access tokens, and all
    /// sessions except the one that makes the call. The bearer's credential must not be an API key. `username` is
    /// the name of the bearer, and serves only to choose the replica.
    pub async fn change_password(
        &self,
        username: &str,
        current: &SecretString,
        new: &SecretString,
    ) -> Result<(), CallError> {
        let request = ChangePasswordRequest {
            current_password: current.expose_secret().to_owned(),
            new_password: new.expose_secret().to_owned(),
        };
        let client = self.connections.password_client_for(username);
        self.call_hashing(client, request).await.map(drop)
    }

    /// Replaces the password of a user and revokes the user's tokens and sessions.
    pub async fn set_password(
        &self,
        user_id: i64,
        password: &SecretString,
    ) -> Result<(), CallError> {
        let request = SetPasswordRequest {
            user_id,
            password: password.expose_secret().to_owned(),
        };
        let client = self.connections.password_client();
        self.call_hashing(client, request).await.map(drop)
    }

    /// Creates a password link for another user, and revokes an earlier link of that user. The bearer's
    /// credential must not be an API key.
    pub async fn create_password_link(&self, user_id: i64) -> Result<PasswordLink, CallError> {
        let request = CreatePasswordLinkRequest { user_id };
        let response = self.call(request).await?;
        response.link.ok_or(CallError::Malformed)?.try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::{CallError, PasswordLink, auth_v1};
    use prost_types::Timestamp;
    use secrecy::ExposeSecret as _;

    #[test]
    fn a_link_without_its_end_is_an_error() {
        let expires_at = Some(Timestamp {
            seconds: 1,
            nanos: 0,
        });
        let good = auth_v1::PasswordLink {
            token: "rgl_a".to_owned(),
            expires_at,
        };
        let link = PasswordLink::try_from(good.clone()).expect("a link");
        assert_eq!(link.token.expose_secret(), "rgl_a");
        let bad = auth_v1::PasswordLink {
            expires_at: None,
            ..good
        };
        assert!(matches!(
            PasswordLink::try_from(bad),
            Err(CallError::Malformed)
        ));
    }
}
