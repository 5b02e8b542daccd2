//! The calls by which users enroll, confirm and turn off a second factor.

use super::{AuthGrpc, RpcResult, call_origin::read_origin};
use crate::{accounts::AccountError, second_factor::Issuer};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1 as wire;
use secrecy::ExposeSecret as _;
use tonic::Request;

impl AuthGrpc {
    pub(super) async fn enrol_second_factor(
        &self,
        request: Request<wire::EnrolSecondFactorRequest>,
    ) -> RpcResult<wire::EnrolSecondFactorResponse> {
        let origin = read_origin(&request);
        let (metadata, _, message) = request.into_parts();
        let issuer = Issuer::parse(message.issuer).ok_or_else(|| {
            AccountError::invalid_request(
                "The issuer must be a line of 1 to 255 bytes without a colon.",
            )
        })?;
        let actor = actor::token(&metadata);
        let password = message.current_password.into();
        let (enrolment, user) = self
            .accounts
            .begin_second_factor(actor, password, origin)
            .await?;
        let shown = enrolment.authenticator_secret(&issuer, &user.username);
        let codes = enrolment
            .recovery_codes
            .iter()
            .map(|code| code.expose_secret().to_owned());
        Ok(wire::EnrolSecondFactorResponse {
            secret: shown.base32.expose_secret().to_owned(),
            otpauth_url: shown.url.expose_secret().to_owned(),
            recovery_codes: codes.collect(),
        })
    }

    pub(super) async fn enable_second_factor(
        &self,
        request: Request<wire::EnableSecondFactorRequest>,
    ) -> RpcResult<wire::EnableSecondFactorResponse> {
        let actor = actor::token(request.metadata());
        let otp = &request.get_ref().otp;
        self.accounts.turn_on_second_factor(actor, otp).await?;
        Ok(wire::EnableSecondFactorResponse {})
    }

    pub(super) async fn disable_second_factor(
        &self,
        request: Request<wire::DisableSecondFactorRequest>,
    ) -> RpcResult<wire::DisableSecondFactorResponse> {
        let wire::DisableSecondFactorRequest { user_id, otp } = request.get_ref();
        let actor = actor::token(request.metadata());
        self.accounts
            .turn_off_second_factor(actor, *user_id, otp)
            .await?;
        Ok(wire::DisableSecondFactorResponse {})
    }

    pub(super) async fn get_second_factor(
        &self,
        request: Request<wire::GetSecondFactorRequest>,
    ) -> RpcResult<wire::GetSecondFactorResponse> {
        let actor = actor::token(request.metadata());
        let status = self.accounts.second_factor_status(actor).await?;
        Ok(wire::GetSecondFactorResponse {
            enabled: status.is_on,
            recovery_codes: status.recovery_codes,
        })
    }
}
