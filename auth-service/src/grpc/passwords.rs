//! The calls that change passwords, create and redeem password links, and return the limits on the length of a
//! password.

use super::{AuthGrpc, RpcResult, call_origin::read_origin, message::timestamp};
use crate::accounts::PasswordLink;
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1 as wire;
use secrecy::ExposeSecret as _;
use tonic::Request;

impl AuthGrpc {
    pub(super) async fn set_password(
        &self,
        request: Request<wire::SetPasswordRequest>,
    ) -> RpcResult<wire::SetPasswordResponse> {
        let origin = read_origin(&request);
        let (metadata, _, message) = request.into_parts();
        let wire::SetPasswordRequest { user_id, password } = message;
        let actor = actor::token(&metadata);
        let user = self
            .accounts
            .set_password(actor, user_id, password.into(), origin)
            .await?;
        Ok(wire::SetPasswordResponse {
            user: Some(user.into()),
        })
    }

    pub(super) async fn change_password(
        &self,
        request: Request<wire::ChangePasswordRequest>,
    ) -> RpcResult<wire::ChangePasswordResponse> {
        let origin = read_origin(&request);
        let (metadata, _, message) = request.into_parts();
        let actor = actor::token(&metadata);
        let current = message.current_password.into();
        let new = message.new_password.into();
        let user = self
            .accounts
            .change_password(actor, current, new, origin)
            .await?;
        Ok(wire::ChangePasswordResponse {
            user: Some(user.into()),
        })
    }

    pub(super) async fn create_password_link(
        &self,
        request: Request<wire::CreatePasswordLinkRequest>,
    ) -> RpcResult<wire::CreatePasswordLinkResponse> {
        let actor = actor::token(request.metadata());
        let user_id = request.get_ref().user_id;
        let link = self.accounts.create_password_link(actor, user_id).await?;
        let link = Some(password_link_message(&link));
        Ok(wire::CreatePasswordLinkResponse { link })
    }

    pub(super) async fn redeem_password_link(
        &self,
        request: Request<wire::RedeemPasswordLinkRequest>,
    ) -> RpcResult<wire::RedeemPasswordLinkResponse> {
        let origin = read_origin(&request);
        let wire::RedeemPasswordLinkRequest { token, password } = request.into_inner();
        self.accounts
            .redeem_password_link(&token, password.into(), origin)
            .await?;
        Ok(wire::RedeemPasswordLinkResponse {})
    }

    pub(super) async fn get_password_link(
        &self,
        request: Request<wire::GetPasswordLinkRequest>,
    ) -> RpcResult<wire::GetPasswordLinkResponse> {
        let origin = read_origin(&request);
        let token = &request.get_ref().token;
        let link = self.accounts.find_password_link(token, &origin).await?;
        Ok(wire::GetPasswordLinkResponse {
            username: link.stored.user.username,
            expires_at: Some(timestamp(link.stored.expires_at)),
        })
    }

    #[expect(clippy::unused_async, reason = "all calls are alike")]
    pub(super) async fn get_password_policy(
        &self,
        _: Request<wire::GetPasswordPolicyRequest>,
    ) -> RpcResult<wire::GetPasswordPolicyResponse> {
        let lengths = self.accounts.password_lengths();
        let bytes = |length: usize| length.try_into().unwrap_or(u32::MAX);
        Ok(wire::GetPasswordPolicyResponse {
            min_length: bytes(*lengths.start()),
            max_length: bytes(*lengths.end()),
        })
    }
}

pub(super) fn password_link_message(link: &PasswordLink) -> wire::PasswordLink {
    wire::PasswordLink {
        token: link.token.expose_secret().to_owned(),
        expires_at: Some(timestamp(link.expires_at)),
    }
}
