//! `SetUserRole`.

use super::{RpcResult, actor, message::role_from_wire};
use crate::accounts::Accounts;
use rolegate_proto::auth_v1::{SetUserRoleRequest, SetUserRoleResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<SetUserRoleRequest>,
) -> RpcResult<SetUserRoleResponse> {
    let SetUserRoleRequest { user_id, role } = *request.get_ref();
    let actor = actor::token(request.metadata());
    let user = accounts.set_user_role(actor, user_id, role_from_wire(role)).await?;
    Ok(Response::new(SetUserRoleResponse { user: Some(user.into()) }))
}
