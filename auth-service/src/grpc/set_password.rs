//! `SetPassword`.

use super::{AuthGrpc, RpcResult, request_origin};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{SetPasswordRequest, SetPasswordResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<SetPasswordRequest>,
) -> RpcResult<SetPasswordResponse> {
    let origin = request_origin::from_request(&request);
    let (metadata, _, SetPasswordRequest { user_id, password }) = request.into_parts();
    let actor = actor::token(&metadata);
    let user = service.accounts.set_password(actor, user_id, password.into(), origin).await?;
    Ok(Response::new(SetPasswordResponse { user: Some(user.into()) }))
}
