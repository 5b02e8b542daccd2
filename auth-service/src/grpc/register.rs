//! `Register`.

use super::RpcResult;
use crate::{accounts::Accounts, request_origin::RequestOrigin};
use rolegate_proto::auth_v1::{RegisterRequest, RegisterResponse};
use secrecy::SecretString;
use tonic::Response;

pub(super) async fn call(
    accounts: &Accounts,
    request: RegisterRequest,
    origin: RequestOrigin,
) -> RpcResult<RegisterResponse> {
    let RegisterRequest { username, password } = request;
    let user = accounts.register(&username, SecretString::from(password), origin).await?;
    Ok(Response::new(RegisterResponse { user: Some(user.into()) }))
}
