//! How somebody with a password link chooses a password: the calls that need no other credential.

use super::AuthClient;
use crate::{connections::Client, response_time::required_time};
use rolegate_grpc_client::{CallContext, CallError, PASSWORD_TIMEOUT, READ_TIMEOUT, call, read};
use rolegate_proto::auth_v1::{
    GetPasswordLinkRequest, GetPasswordPolicyRequest, RedeemPasswordLinkRequest,
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{ops::RangeInclusive, time::SystemTime};

impl AuthClient {
    /// Sets the password of the user of a link, which is used up, and revokes the user's tokens and sessions.
    pub async fn redeem_password_link(
        &self,
        token: &SecretString,
        password: &SecretString,
        context: CallContext,
    ) -> Result<(), CallError> {
        let request = context.request(RedeemPasswordLinkRequest {
            token: token.expose_secret().to_owned(),
            password: password.expose_secret().to_owned(),
        });
        let client = self.shared.connections.password_client();
        let method = Client::redeem_password_link;
        call(PASSWORD_TIMEOUT, &client, request, method).await?;
        Ok(())
    }

    /// Returns whose password a link sets and when the link ends. The link stays valid.
    pub async fn password_link(
        &self,
        token: &SecretString,
        context: CallContext,
    ) -> Result<(String, SystemTime), CallError> {
        let token = token.expose_secret().to_owned();
        let request = context.request(GetPasswordLinkRequest { token });
        let client = &self.shared.connections.client;
        // This is no `read`, which may be sent twice: a wrong token would count twice.
        let link = call(READ_TIMEOUT, client, request, Client::get_password_link).await?;
        Ok((link.username, required_time(link.expires_at)?))
    }

    /// Returns how many bytes a new password may have.
    pub async fn password_lengths(
        &self,
        context: CallContext,
    ) -> Result<RangeInclusive<u32>, CallError> {
        let request = context.request(GetPasswordPolicyRequest {});
        let client = &self.shared.connections.client;
        let policy = read(READ_TIMEOUT, client, request, Client::get_password_policy).await?;
        Ok(policy.min_length..=policy.max_length)
    }
}
