//! `DeleteUser`.

use super::{RpcResult, actor};
use crate::accounts::Accounts;
use rolegate_proto::auth_v1::{DeleteUserRequest, DeleteUserResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<DeleteUserRequest>,
) -> RpcResult<DeleteUserResponse> {
    let actor = actor::token(request.metadata());
    let user = accounts.delete_user(actor, request.get_ref().user_id).await?;
    Ok(Response::new(DeleteUserResponse { user: Some(user.into()) }))
}
