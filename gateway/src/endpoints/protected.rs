//! `GET /protected` of the HTTP Basic variant.

use crate::{
    basic_credentials::BasicCredentials,
    message::{Message, message},
};
use auth_client::{AuthClient, CallContext, axum::Problem};
use axum::{Extension, Json, extract::State};

/// Any user with the right password, asked for on every request.
pub(crate) async fn protected(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    credentials: BasicCredentials,
) -> Result<Json<Message>, Problem> {
    let BasicCredentials { username, password } = credentials;
    let user = auth.verify_credentials(&username, &password, context).await?;
    Ok(message(format!("Welcome {}!", user.username)))
}
