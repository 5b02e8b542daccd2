//! `ListUsers`.

use super::{RpcResult, actor};
use crate::accounts::{Accounts, PageRequest};
use rolegate_proto::{
    Role,
    auth_v1::{ListUsersRequest, ListUsersResponse},
};
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<ListUsersRequest>,
) -> RpcResult<ListUsersResponse> {
    let message = request.get_ref();
    let page = PageRequest {
        size: message.page_size,
        after: message.after,
        username_prefix: message.username_prefix.clone(),
        role: message.role.map(|role| Role::try_from(role).ok()),
    };
    let page = accounts.list_users(actor::token(request.metadata()), page).await?;
    let users = page.users.into_iter().map(Into::into).collect();
    Ok(Response::new(ListUsersResponse { users, next_after: page.next_after }))
}
