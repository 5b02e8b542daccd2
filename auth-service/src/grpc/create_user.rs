//! `CreateUser`.

use super::{AuthGrpc, RpcResult, request_origin};
use rolegate_grpc_server::actor;
use rolegate_proto::{
    Role,
    auth_v1::{CreateUserRequest, CreateUserResponse},
};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<CreateUserRequest>,
) -> RpcResult<CreateUserResponse> {
    let origin = request_origin::from_request(&request);
    let (metadata, _, message) = request.into_parts();
    let CreateUserRequest { username, password, role } = message;
    let role = role.map_or(Some(Role::User), |role| Role::try_from(role).ok());
    let actor = actor::token(&metadata);
    let user =
        service.accounts.create_user(actor, &username, password.into(), role, origin).await?;
    Ok(Response::new(CreateUserResponse { user: Some(user.into()) }))
}
