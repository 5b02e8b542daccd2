//! `VerifyCredentials`.

use super::Answer;
use crate::accounts::{Accounts, Origin};
use auth_proto::auth_v1::{VerifyCredentialsRequest, VerifyCredentialsResponse};
use secrecy::SecretString;
use tonic::Response;

pub(super) async fn call(
    accounts: &Accounts,
    request: VerifyCredentialsRequest,
    origin: Origin,
) -> Answer<VerifyCredentialsResponse> {
    let VerifyCredentialsRequest { username, password } = request;
    let user = accounts.verify_credentials(&username, SecretString::from(password), origin).await?;
    Ok(Response::new(VerifyCredentialsResponse { user: Some(user.into()) }))
}
