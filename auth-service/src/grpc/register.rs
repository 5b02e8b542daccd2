//! `Register`.

use super::{AuthGrpc, RpcResult, request_origin};
use rolegate_proto::auth_v1::{RegisterRequest, RegisterResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<RegisterRequest>,
) -> RpcResult<RegisterResponse> {
    let origin = request_origin::from_request(&request);
    let RegisterRequest { username, password } = request.into_inner();
    let user = service.accounts.register(&username, password.into(), origin).await?;
    Ok(Response::new(RegisterResponse { user: Some(user.into()) }))
}
