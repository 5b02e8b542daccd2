//! `ListUsers`.

use super::{AuthGrpc, RpcResult};
use crate::accounts::PageRequest;
use rolegate_grpc_server::actor;
use rolegate_proto::{
    Role,
    auth_v1::{ListUsersRequest, ListUsersResponse},
};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<ListUsersRequest>,
) -> RpcResult<ListUsersResponse> {
    let message = request.get_ref();
    let page = PageRequest {
        size: message.page_size,
        after: message.after,
        username_prefix: message.username_prefix.clone(),
        role: message.role.map(|role| Role::try_from(role).ok()),
    };
    let page = service.accounts.list_users(actor::token(request.metadata()), page).await?;
    let users = page.users.into_iter().map(Into::into).collect();
    Ok(Response::new(ListUsersResponse { users, next_after: page.next_after }))
}
