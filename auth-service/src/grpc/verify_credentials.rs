//! `VerifyCredentials`.

use super::Answer;
use crate::accounts::Accounts;
use auth_proto::auth_v1::{VerifyCredentialsRequest, VerifyCredentialsResponse};
use secrecy::SecretString;
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<VerifyCredentialsRequest>,
) -> Answer<VerifyCredentialsResponse> {
    let VerifyCredentialsRequest { username, password } = request.into_inner();
    let user = accounts.verify_credentials(&username, SecretString::from(password)).await?;
    Ok(Response::new(VerifyCredentialsResponse { user: Some(user.into()) }))
}
