//! `Login`.

use super::Answer;
use crate::accounts::Accounts;
use auth_proto::auth_v1::{LoginRequest, LoginResponse};
use secrecy::{ExposeSecret, SecretString};
use tonic::{Request, Response};

pub(super) async fn call(
    accounts: &Accounts,
    request: Request<LoginRequest>,
) -> Answer<LoginResponse> {
    let LoginRequest { username, password } = request.into_inner();
    let (token, user) = accounts.login(&username, SecretString::from(password)).await?;
    let access_token = token.expose_secret().to_owned();
    Ok(Response::new(LoginResponse { access_token, user: Some(user.into()) }))
}
