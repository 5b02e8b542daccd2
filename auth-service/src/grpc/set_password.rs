//! `SetPassword`.

use super::{RpcResult, actor};
use crate::{accounts::Accounts, request_origin::RequestOrigin};
use rolegate_proto::auth_v1::{SetPasswordRequest, SetPasswordResponse};
use secrecy::SecretString;
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<SetPasswordRequest>,
    origin: RequestOrigin,
) -> RpcResult<SetPasswordResponse> {
    let (metadata, _, message) = request.into_parts();
    let SetPasswordRequest { user_id, password } = message;
    let password = SecretString::from(password);
    let actor = actor::token(&metadata);
    let user = accounts.set_password(actor, user_id, password, origin).await?;
    Ok(Response::new(SetPasswordResponse { user: Some(user.into()) }))
}
