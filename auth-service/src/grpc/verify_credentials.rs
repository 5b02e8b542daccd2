//! `VerifyCredentials`.

use super::{AuthGrpc, RpcResult, request_origin, status::reason_of};
use crate::metrics;
use rolegate_proto::auth_v1::{VerifyCredentialsRequest, VerifyCredentialsResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<VerifyCredentialsRequest>,
) -> RpcResult<VerifyCredentialsResponse> {
    let origin = request_origin::from_request(&request);
    let VerifyCredentialsRequest { username, password } = request.into_inner();
    let outcome = service.accounts.verify_credentials(&username, password.into(), origin).await;
    metrics::login("basic", outcome.as_ref().err().map(reason_of));
    Ok(Response::new(VerifyCredentialsResponse { user: Some(outcome?.into()) }))
}
