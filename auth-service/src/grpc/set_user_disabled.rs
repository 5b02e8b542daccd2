//! `SetUserDisabled`.

use super::{AuthGrpc, RpcResult};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{SetUserDisabledRequest, SetUserDisabledResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<SetUserDisabledRequest>,
) -> RpcResult<SetUserDisabledResponse> {
    let SetUserDisabledRequest { user_id, disabled } = *request.get_ref();
    let actor = actor::token(request.metadata());
    let user = service.accounts.set_user_disabled(actor, user_id, disabled).await?;
    Ok(Response::new(SetUserDisabledResponse { user: Some(user.into()) }))
}
