//! `Login`.

use super::Answer;
use crate::accounts::{Accounts, Origin};
use auth_proto::auth_v1::{LoginRequest, LoginResponse};
use secrecy::{ExposeSecret, SecretString};
use tonic::Response;

pub(super) async fn call(
    accounts: &Accounts,
    request: LoginRequest,
    origin: Origin,
) -> Answer<LoginResponse> {
    let LoginRequest { username, password } = request;
    let (token, user) = accounts.login(&username, SecretString::from(password), origin).await?;
    let access_token = token.expose_secret().to_owned();
    Ok(Response::new(LoginResponse { access_token, user: Some(user.into()) }))
}
