//! `ChangePassword`.

use super::{RpcResult, actor};
use crate::{accounts::Accounts, request_origin::RequestOrigin};
use rolegate_proto::auth_v1::{ChangePasswordRequest, ChangePasswordResponse};
use secrecy::SecretString;
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<ChangePasswordRequest>,
    origin: RequestOrigin,
) -> RpcResult<ChangePasswordResponse> {
    let (metadata, _, message) = request.into_parts();
    let ChangePasswordRequest { current_password, new_password } = message;
    let (current, new) = (SecretString::from(current_password), SecretString::from(new_password));
    let token = actor::token(&metadata);
    let user = accounts.change_password(token, current, new, origin).await?;
    Ok(Response::new(ChangePasswordResponse { user: Some(user.into()) }))
}
