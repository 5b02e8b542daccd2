//! `SetUserRole`.

use super::{RpcResult, actor};
use crate::accounts::Accounts;
use rolegate_proto::{
    Role,
    auth_v1::{SetUserRoleRequest, SetUserRoleResponse},
};
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<SetUserRoleRequest>,
) -> RpcResult<SetUserRoleResponse> {
    let SetUserRoleRequest { user_id, role } = *request.get_ref();
    let actor = actor::token(request.metadata());
    let user = accounts.set_user_role(actor, user_id, Role::try_from(role).ok()).await?;
    Ok(Response::new(SetUserRoleResponse { user: Some(user.into()) }))
}
