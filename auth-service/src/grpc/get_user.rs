//! `GetUser`.

use super::{AuthGrpc, RpcResult};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{GetUserRequest, GetUserResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<GetUserRequest>,
) -> RpcResult<GetUserResponse> {
    let actor = actor::token(request.metadata());
    let user = service.accounts.get_user(actor, request.get_ref().user_id).await?;
    Ok(Response::new(GetUserResponse { user: Some(user.into()) }))
}
