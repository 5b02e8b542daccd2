//! Access tokens: their issue and their end.

use super::{Message, message};
use crate::{
    extract::{json_body::JsonBody, path_ids::PathId},
    openapi::responses::{AccessTokenNeeded, ErrorBody, TooManyAttempts},
    state::GatewayState,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{ActingClient, CallContext, axum::ApiError};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Login credentials.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LoginRequest {
    #[schema(example = "ada")]
    username: String,
    #[schema(value_type = String, format = Password, example = "open sesame")]
    password: SecretString,
}

/// An access token and its type (RFC 6750).
#[derive(Serialize, ToSchema)]
#[schema(as = Login)]
pub(crate) struct LoginResponse {
    /// A JWT, valid for 30 minutes.
    #[schema(example = "eyJhbGciOiJIUzI1NiIs...")]
    access_token: String,
    #[schema(pattern = "^bearer$", example = "bearer")]
    token_type: &'static str,
}

/// Log in
///
/// An unknown username and a wrong password get the same response.
#[utoipa::path(
    post,
    path = "/login",
    tag = "Accounts",
    request_body(content = LoginRequest, description = "At most 64 KiB."),
    responses(
        (status = 200, body = LoginResponse),
        (status = 401, description = "The username is unknown or the password is wrong.",
            headers(("WWW-Authenticate" = String, description = "`Bearer`")), body = ErrorBody,
            example = json!({"detail": "Invalid username or password."})),
        TooManyAttempts
    )
)]
pub(crate) async fn login(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    JsonBody(LoginRequest { username, password }): JsonBody<LoginRequest>,
) -> Result<Json<LoginResponse>, ApiError> {
    let call = state.auth.login(&username, &password, context);
    let (token, _) = state.refusals.login(context, call).await?;
    let access_token = token.expose_secret().to_owned();
    Ok(Json(LoginResponse { access_token, token_type: "bearer" }))
}

/// Log out
///
/// Ends all access tokens of the user, also those of other logins: they cannot be told apart. API keys
/// stay.
#[utoipa::path(
    post,
    path = "/logout",
    tag = "Accounts",
    security(("bearer" = [])),
    responses(
        (status = 200, body = Message, example = json!({"message": "Logged out."})),
        AccessTokenNeeded
    )
)]
pub(crate) async fn logout(client: ActingClient) -> Result<Json<Message>, ApiError> {
    client.revoke_tokens(None).await?;
    Ok(message("Logged out."))
}

/// End all access tokens of a user
///
/// The user can log in again at once. API keys stay.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/tokens",
    tag = "Users",
    responses((status = 200, body = Message, example = json!({"message": "Tokens revoked."})))
)]
pub(crate) async fn revoke_tokens(
    client: ActingClient,
    PathId(user_id): PathId,
) -> Result<Json<Message>, ApiError> {
    client.revoke_tokens(Some(user_id)).await?;
    Ok(message("Tokens revoked."))
}
