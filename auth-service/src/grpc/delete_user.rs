//! `DeleteUser`.

use super::{AuthGrpc, RpcResult};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{DeleteUserRequest, DeleteUserResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<DeleteUserRequest>,
) -> RpcResult<DeleteUserResponse> {
    let actor = actor::token(request.metadata());
    let user = service.accounts.delete_user(actor, request.get_ref().user_id).await?;
    Ok(Response::new(DeleteUserResponse { user: Some(user.into()) }))
}
