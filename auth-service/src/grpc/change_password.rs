//! `ChangePassword`.

use super::{AuthGrpc, RpcResult, request_origin};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{ChangePasswordRequest, ChangePasswordResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<ChangePasswordRequest>,
) -> RpcResult<ChangePasswordResponse> {
    let origin = request_origin::from_request(&request);
    let (metadata, _, message) = request.into_parts();
    let (current, new) = (message.current_password.into(), message.new_password.into());
    let actor = actor::token(&metadata);
    let user = service.accounts.change_password(actor, current, new, origin).await?;
    Ok(Response::new(ChangePasswordResponse { user: Some(user.into()) }))
}
