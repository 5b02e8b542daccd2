//! `RevokeTokens`.

use super::{AuthGrpc, RpcResult};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{RevokeTokensRequest, RevokeTokensResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<RevokeTokensRequest>,
) -> RpcResult<RevokeTokensResponse> {
    let actor = actor::token(request.metadata());
    let user = service.accounts.revoke_tokens(actor, request.get_ref().user_id).await?;
    Ok(Response::new(RevokeTokensResponse { user: Some(user.into()) }))
}
