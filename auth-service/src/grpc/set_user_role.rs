//! `SetUserRole`.

use super::{AuthGrpc, RpcResult};
use rolegate_grpc_server::actor;
use rolegate_proto::{
    Role,
    auth_v1::{SetUserRoleRequest, SetUserRoleResponse},
};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<SetUserRoleRequest>,
) -> RpcResult<SetUserRoleResponse> {
    let SetUserRoleRequest { user_id, role } = *request.get_ref();
    let actor = actor::token(request.metadata());
    let user = service.accounts.set_user_role(actor, user_id, Role::try_from(role).ok()).await?;
    Ok(Response::new(SetUserRoleResponse { user: Some(user.into()) }))
}
