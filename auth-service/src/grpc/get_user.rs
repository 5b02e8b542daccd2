//! `GetUser`.

use super::{RpcResult, actor};
use crate::accounts::Accounts;
use rolegate_proto::auth_v1::{GetUserRequest, GetUserResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<GetUserRequest>,
) -> RpcResult<GetUserResponse> {
    let actor = actor::token(request.metadata());
    let user = accounts.get_user(actor, request.get_ref().user_id).await?;
    Ok(Response::new(GetUserResponse { user: Some(user.into()) }))
}
