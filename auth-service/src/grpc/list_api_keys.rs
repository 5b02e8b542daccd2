//! `ListApiKeys`.

use super::{AuthGrpc, RpcResult};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{ListApiKeysRequest, ListApiKeysResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<ListApiKeysRequest>,
) -> RpcResult<ListApiKeysResponse> {
    let actor = actor::token(request.metadata());
    let keys = service.accounts.list_api_keys(actor, request.get_ref().user_id).await?;
    Ok(Response::new(ListApiKeysResponse { api_keys: keys.into_iter().map(Into::into).collect() }))
}
