//! `GET /protected` of both variants.

use super::message::{Message, message};
use crate::{
    extract::basic_credentials::BasicCredentials, openapi::responses::TooManyAttempts,
    refusals::Refusals,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext, User,
    axum::{ApiError, CurrentUser},
};

/// Get the current user's welcome message
#[utoipa::path(
    get,
    path = "/protected",
    tag = "Access",
    security(("bearer" = [])),
    responses((status = 200, body = Message, example = json!({"message": "Welcome ada!"})))
)]
pub(crate) async fn bearer(CurrentUser(user): CurrentUser) -> Json<Message> {
    welcome(&user)
}

/// Get the current user's welcome message
///
/// Every request verifies the password.
#[utoipa::path(
    get,
    path = "/protected",
    tag = "Access",
    security(("basic" = [])),
    responses(
        (status = 200, body = Message, example = json!({"message": "Welcome ada!"})),
        TooManyAttempts
    )
)]
pub(crate) async fn basic(
    State(auth): State<AuthClient>,
    State(refusals): State<Refusals>,
    Extension(context): Extension<CallContext>,
    credentials: BasicCredentials,
) -> Result<Json<Message>, ApiError> {
    let BasicCredentials { username, password } = credentials;
    let call = async || auth.verify_credentials(&username, &password, context).await;
    let user = refusals.verify(context, &username, call).await?;
    Ok(welcome(&user))
}

fn welcome(user: &User) -> Json<Message> {
    message(format!("Welcome {}!", user.username))
}
