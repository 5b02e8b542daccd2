//! Calls that check a password, or register one.

use super::{AuthGrpc, RpcResult, authorize::roles, call_origin::read_origin};
use crate::{
    accounts::{AccountError, BasicCredentials},
    metrics,
};
use rolegate_proto::{Reason, auth_v1 as wire};
use secrecy::ExposeSecret as _;
use tonic::{Request, Response};

impl AuthGrpc {
    pub(super) async fn register(
        &self,
        request: Request<wire::RegisterRequest>,
    ) -> RpcResult<wire::RegisterResponse> {
        let origin = read_origin(&request);
        let wire::RegisterRequest { username, password } = request.into_inner();
        let user = self
            .accounts
            .register(&username, password.into(), origin)
            .await?;
        Ok(Response::new(wire::RegisterResponse {
            user: Some(user.into()),
        }))
    }

    pub(super) async fn login(
        &self,
        request: Request<wire::LoginRequest>,
    ) -> RpcResult<wire::LoginResponse> {
        let origin = read_origin(&request);
        let wire::LoginRequest {
            username,
            password,
            otp,
        } = request.into_inner();
        let outcome = self
            .accounts
            .login(&username, password.into(), otp.as_deref(), origin)
            .await;
        metrics::count_login("login", outcome.as_ref().err().map(AccountError::reason));
        let issued = outcome?;
        Ok(Response::new(wire::LoginResponse {
            access_token: issued.access_token.expose_secret().to_owned(),
            user: Some(issued.user.into()),
        }))
    }

    pub(super) async fn verify_credentials(
        &self,
        request: Request<wire::VerifyCredentialsRequest>,
    ) -> RpcResult<wire::VerifyCredentialsResponse> {
        let origin = read_origin(&request);
        let wire::VerifyCredentialsRequest {
            username,
            password,
            role_names,
            client_address: _,
            accept_api_keys,
        } = request.into_inner();
        let check = BasicCredentials {
            username,
            password: password.into(),
            accept_api_keys,
            origin,
        };
        let user = self.accounts.verify_credentials(check).await?;
        self.accounts.require_known_roles(&roles(&role_names)?)?;
        Ok(Response::new(wire::VerifyCredentialsResponse {
            user: Some(user.into()),
        }))
    }

    pub(super) async fn batch_verify_credentials(
        &self,
        request: Request<wire::BatchVerifyCredentialsRequest>,
    ) -> RpcResult<wire::BatchVerifyCredentialsResponse> {
        let origin = read_origin(&request);
        let (_, call, wire::BatchVerifyCredentialsRequest { items }) = request.into_parts();
        Ok(Response::new(self.recall(items, &call, origin).await?))
    }

    pub(super) async fn create_session(
        &self,
        request: Request<wire::CreateSessionRequest>,
    ) -> RpcResult<wire::CreateSessionResponse> {
        let origin = read_origin(&request);
        let outcome = self.new_session(request.into_inner(), origin).await;
        let reason = match &outcome {
            Ok(created) => created
                .pending_sign_in
                .as_ref()
                .map(|_| Reason::OtpRequired),
            Err(error) => Some(error.reason()),
        };
        metrics::count_login("session", reason);
        Ok(Response::new(outcome?))
    }
}
