//! `VerifyCredentials`.

use super::{RpcResult, status::reason_of};
use crate::{accounts::Accounts, metrics, request_origin::RequestOrigin};
use rolegate_proto::auth_v1::{VerifyCredentialsRequest, VerifyCredentialsResponse};
use secrecy::SecretString;
use tonic::Response;

pub(super) async fn call(
    accounts: &Accounts,
    request: VerifyCredentialsRequest,
    origin: RequestOrigin,
) -> RpcResult<VerifyCredentialsResponse> {
    let VerifyCredentialsRequest { username, password } = request;
    let password = SecretString::from(password);
    let outcome = accounts.verify_credentials(&username, password, origin).await;
    metrics::login("basic", outcome.as_ref().err().map(reason_of));
    Ok(Response::new(VerifyCredentialsResponse { user: Some(outcome?.into()) }))
}
