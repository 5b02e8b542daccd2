//! The calls by which users enroll, confirm and turn off a second factor.

use super::{AuthGrpc, RpcResult};
use crate::{accounts::AccountError, call_origin::CallOrigin, second_factor::Issuer};
use rolegate_grpc_server::Call;
use rolegate_proto::auth_v1 as wire;
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::Arc;

impl AuthGrpc {
    pub(super) async fn enrol_second_factor(
        self: Arc<Self>,
        call: Call,
        message: wire::EnrolSecondFactorRequest,
    ) -> RpcResult<wire::EnrolSecondFactorResponse> {
        let issuer = Issuer::parse(message.issuer).ok_or_else(|| {
            AccountError::invalid_request(
                "The issuer must be a line of 1 to 255 bytes without a colon.",
            )
        })?;
        let password = message.current_password.into();
        let (enrolment, user) = self
            .services
            .users
            .begin_second_factor(call.credential(), password, CallOrigin::from(&call))
            .await?;
        let shown = enrolment.authenticator_secret(&issuer, &user.username);
        let expose = |secret: &SecretString| secret.expose_secret().to_owned();
        Ok(wire::EnrolSecondFactorResponse {
            secret: expose(&shown.base32),
            otpauth_url: expose(&shown.url),
            recovery_codes: enrolment.recovery_codes.iter().map(expose).collect(),
        })
    }

    pub(super) async fn enable_second_factor(
        self: Arc<Self>,
        call: Call,
        message: wire::EnableSecondFactorRequest,
    ) -> RpcResult<wire::EnableSecondFactorResponse> {
        self.services
            .users
            .turn_on_second_factor(call.credential(), &message.otp)
            .await?;
        Ok(wire::EnableSecondFactorResponse {})
    }

    pub(super) async fn disable_second_factor(
        self: Arc<Self>,
        call: Call,
        message: wire::DisableSecondFactorRequest,
    ) -> RpcResult<wire::DisableSecondFactorResponse> {
        self.services
            .users
            .turn_off_second_factor(call.credential(), message.user_id, &message.otp)
            .await?;
        Ok(wire::DisableSecondFactorResponse {})
    }

    pub(super) async fn get_second_factor(
        self: Arc<Self>,
        call: Call,
        _: wire::GetSecondFactorRequest,
    ) -> RpcResult<wire::GetSecondFactorResponse> {
        let status = self
            .services
            .users
            .second_factor_status(call.credential())
            .await?;
        Ok(wire::GetSecondFactorResponse {
            enabled: status.is_on,
            recovery_codes: status.recovery_codes,
        })
    }
}
