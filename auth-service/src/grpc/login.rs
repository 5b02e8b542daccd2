//! `Login`.

use super::{RpcResult, status::reason_of};
use crate::{accounts::Accounts, metrics, request_origin::RequestOrigin};
use rolegate_proto::auth_v1::{LoginRequest, LoginResponse};
use secrecy::{ExposeSecret, SecretString};
use tonic::Response;

pub(super) async fn call(
    accounts: &Accounts,
    request: LoginRequest,
    origin: RequestOrigin,
) -> RpcResult<LoginResponse> {
    let LoginRequest { username, password } = request;
    let outcome = accounts.login(&username, SecretString::from(password), origin).await;
    metrics::login("login", outcome.as_ref().err().map(reason_of));
    let (token, user) = outcome?;
    let access_token = token.expose_secret().to_owned();
    Ok(Response::new(LoginResponse { access_token, user: Some(user.into()) }))
}
