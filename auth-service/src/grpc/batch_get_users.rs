//! `BatchGetUsers`.

use super::{RpcResult, actor};
use crate::accounts::Accounts;
use rolegate_proto::auth_v1::{BatchGetUsersRequest, BatchGetUsersResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<BatchGetUsersRequest>,
) -> RpcResult<BatchGetUsersResponse> {
    let actor = actor::optional_token(request.metadata());
    let users = accounts.usernames(actor, request.get_ref().ids.clone()).await?;
    let users = users.into_iter().map(Into::into).collect();
    Ok(Response::new(BatchGetUsersResponse { users }))
}
