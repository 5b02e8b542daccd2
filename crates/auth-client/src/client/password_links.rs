//! Lets a person with a password link choose a password. These calls need no other credential.

use super::AuthClient;
use rolegate_grpc_client::{Call, CallContext, CallError};
use rolegate_proto::auth_v1::{
    GetPasswordLinkRequest, GetPasswordLinkResponse, GetPasswordPolicyRequest,
    GetPasswordPolicyResponse, RedeemPasswordLinkRequest,
};
use secrecy::{ExposeSecret as _, SecretString};

impl AuthClient {
    /// Sets the password of the user for whom a link was created, and revokes the link and the user's tokens
    /// and sessions.
    pub async fn redeem_password_link(
        &self,
        token: &SecretString,
        password: &SecretString,
        context: CallContext,
    ) -> Result<(), CallError> {
        let request = RedeemPasswordLinkRequest {
            token: token.expose_secret().to_owned(),
            password: password.expose_secret().to_owned(),
        };
        let client = self.shared.connections.password_client();
        Call::hashing(context).send(&client, request).await?;
        Ok(())
    }

    /// Returns the name of the user whose password a link sets, and the time at which the link expires. The
    /// link stays valid.
    pub async fn password_link(
        &self,
        token: &SecretString,
        context: CallContext,
    ) -> Result<GetPasswordLinkResponse, CallError> {
        let token = token.expose_secret().to_owned();
        let request = GetPasswordLinkRequest { token };
        let client = &self.shared.connections.client;
        // The call is not `Call::read`, because a read may be sent twice, and a wrong token would then count as
        // two attempts.
        Call::change(context).send(client, request).await
    }

    /// Returns the allowed lengths of a new password, in bytes.
    pub async fn password_policy(
        &self,
        context: CallContext,
    ) -> Result<GetPasswordPolicyResponse, CallError> {
        let client = &self.shared.connections.client;
        Call::read(context)
            .send(client, GetPasswordPolicyRequest {})
            .await
    }
}
