//! `Login`.

use super::{AuthGrpc, RpcResult, request_origin, status::reason_of};
use crate::metrics;
use rolegate_proto::auth_v1::{LoginRequest, LoginResponse};
use secrecy::ExposeSecret;
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<LoginRequest>,
) -> RpcResult<LoginResponse> {
    let origin = request_origin::from_request(&request);
    let LoginRequest { username, password } = request.into_inner();
    let outcome = service.accounts.login(&username, password.into(), origin).await;
    metrics::login("login", outcome.as_ref().err().map(reason_of));
    let (token, user) = outcome?;
    let access_token = token.expose_secret().to_owned();
    Ok(Response::new(LoginResponse { access_token, user: Some(user.into()) }))
}
