//! `Register`.

use super::Answer;
use crate::accounts::Accounts;
use auth_proto::auth_v1::{RegisterRequest, RegisterResponse};
use secrecy::SecretString;
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<RegisterRequest>,
) -> Answer<RegisterResponse> {
    let RegisterRequest { username, password } = request.into_inner();
    let user = accounts.register(&username, SecretString::from(password)).await?;
    Ok(Response::new(RegisterResponse { user: Some(user.into()) }))
}
