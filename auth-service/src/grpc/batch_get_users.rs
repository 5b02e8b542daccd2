//! `BatchGetUsers`.

use super::{AuthGrpc, RpcResult};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{BatchGetUsersRequest, BatchGetUsersResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<BatchGetUsersRequest>,
) -> RpcResult<BatchGetUsersResponse> {
    let actor = actor::optional_token(request.metadata());
    let users = service.accounts.usernames(actor, request.get_ref().ids.clone()).await?;
    let users = users.into_iter().map(Into::into).collect();
    Ok(Response::new(BatchGetUsersResponse { users }))
}
