//! The calls that change passwords, create and redeem password links, and return the limits on the length of a
//! password.

use super::{AuthGrpc, RpcResult, message::timestamp};
use crate::call_origin::CallOrigin;
use rolegate_grpc_server::Call;
use rolegate_proto::auth_v1 as wire;
use std::sync::Arc;

impl AuthGrpc {
    pub(super) async fn set_password(
        self: Arc<Self>,
        call: Call,
        message: wire::SetPasswordRequest,
    ) -> RpcResult<wire::SetPasswordResponse> {
        let password = message.password.into();
        let user = self
            .services
            .users
            .set_password(
                call.credential(),
                message.user_id,
                password,
                CallOrigin::from(&call),
            )
            .await?;
        Ok(user.into())
    }

    pub(super) async fn change_password(
        self: Arc<Self>,
        call: Call,
        message: wire::ChangePasswordRequest,
    ) -> RpcResult<wire::ChangePasswordResponse> {
        let current = message.current_password.into();
        let new = message.new_password.into();
        let user = self
            .services
            .users
            .change_password(call.credential(), current, new, CallOrigin::from(&call))
            .await?;
        Ok(user.into())
    }

    pub(super) async fn create_password_link(
        self: Arc<Self>,
        call: Call,
        message: wire::CreatePasswordLinkRequest,
    ) -> RpcResult<wire::CreatePasswordLinkResponse> {
        let link = self
            .services
            .users
            .create_password_link(call.credential(), message.user_id)
            .await?;
        Ok(wire::CreatePasswordLinkResponse {
            link: Some(link.into()),
        })
    }

    pub(super) async fn redeem_password_link(
        self: Arc<Self>,
        call: Call,
        message: wire::RedeemPasswordLinkRequest,
    ) -> RpcResult<wire::RedeemPasswordLinkResponse> {
        self.services
            .users
            .redeem_password_link(
                &message.token,
                message.password.into(),
                CallOrigin::from(&call),
            )
            .await?;
        Ok(wire::RedeemPasswordLinkResponse {})
    }

    pub(super) async fn get_password_link(
        self: Arc<Self>,
        call: Call,
        message: wire::GetPasswordLinkRequest,
    ) -> RpcResult<wire::GetPasswordLinkResponse> {
        let link = self
            .services
            .users
            .find_password_link(&message.token, &CallOrigin::from(&call))
            .await?;
        Ok(wire::GetPasswordLinkResponse {
            username: link.stored.user.username,
            expires_at: Some(timestamp(link.stored.expires_at)),
        })
    }

    #[expect(clippy::unused_async, reason = "all calls are alike")]
    pub(super) async fn get_password_policy(
        self: Arc<Self>,
        _: Call,
        _: wire::GetPasswordPolicyRequest,
    ) -> RpcResult<wire::GetPasswordPolicyResponse> {
        let lengths = self.services.policy.passwords.lengths();
        let bytes = |length: usize| length.try_into().unwrap_or(u32::MAX);
        Ok(wire::GetPasswordPolicyResponse {
            min_length: bytes(*lengths.start()),
            max_length: bytes(*lengths.end()),
        })
    }
}
