//! Creates, looks up and redeems the links by which users choose their passwords.

use super::{
    JsonResult, Message, message,
    passwords::password_schema,
    required_rfc3339, rfc3339,
    users::{UserNotFound, UserPath},
};
use crate::{
    extract::{credentials::PersonalToken, json_body::JsonBody, path_ids::PathIds},
    openapi::responses::{AdminTokenRequired, ErrorBody, TooManyAttempts},
    state::GatewayState,
};
use axum::{Extension, Json, extract::State, response::IntoResponse};
use http::StatusCode;
use rolegate_auth_client::{CallContext, PasswordLink, axum::ApiError};
use rolegate_sign_in::password_link::password_link_url;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A link by which a user chooses a password. It is shown only in this response.
#[derive(Serialize, ToSchema)]
#[schema(as = PasswordLink)]
pub(crate) struct PasswordLinkResponse {
    /// The address to give to the user. It is at the origin of the setting `SIGN_IN_URL`, or a path of this service if
    /// that setting is a path.
    #[schema(example = "https://auth.example.org/set-password#rgl_Zm9vYmFy...")]
    url: String,
    /// When the link expires, as RFC 3339 in UTC, to the second.
    #[schema(format = DateTime, example = "2026-11-22T06:00:00.000Z")]
    expires_at: String,
}

impl PasswordLinkResponse {
    pub(super) fn new(state: &GatewayState, link: &PasswordLink) -> Self {
        let url = password_link_url(&state.sign_in_settings.sign_in_url, &link.token);
        Self {
            url: url.expose_secret().to_owned(),
            expires_at: rfc3339(link.expires_at),
        }
    }
}

/// Create a password link for a user
///
/// Returns a link by which the user chooses a password. The link can be used once within 24 hours. It ends earlier if a
/// newer link is created, the password changes, or the user is disabled.
///
/// Give the link to the user in a way that nobody else can read, because anyone who has it can choose the password.
/// Only admins may call this endpoint, and not with an API key.
#[utoipa::path(
    post,
    path = "/users/{user_id}/password-link",
    params(UserPath),
    responses(
        (status = 201, description = "The new link.", body = PasswordLinkResponse),
        (status = 400, description = "The user is the caller, or the id is not an integer.",
            body = ErrorBody, example = "Use /profile/password to change your own password."),
        AdminTokenRequired,
        UserNotFound
    )
)]
pub(crate) async fn create_password_link(
    State(state): State<GatewayState>,
    PersonalToken { client, .. }: PersonalToken,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> Result<impl IntoResponse, ApiError> {
    let link = client.create_password_link(user_id).await?;
    Ok((
        StatusCode::CREATED,
        Json(PasswordLinkResponse::new(&state, &link)),
    ))
}

/// The token of a password link, and the new password.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordChoiceRequest {
    /// The part of the link after `#`.
    #[schema(value_type = String, example = "rgl_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE")]
    token: SecretString,
    #[schema(schema_with = password_schema)]
    password: SecretString,
}

/// Set a password with a password link
///
/// Sets the password of the user for whom the link was created. Anyone who has the link may call this endpoint. Log in
/// with the new password afterwards.
///
/// Revokes all access tokens and ends all sessions of the user. API keys and the second factor stay. If the password
/// breaks a rule, the link can still be used.
#[utoipa::path(
    put,
    path = "/password",
    request_body = PasswordChoiceRequest,
    responses(
        (status = 200, body = Message, example = "Password updated successfully."),
        (status = 400, description = "The link is unknown, used, replaced or expired, the password \
                                      breaks a rule, or the request body is malformed.",
            body = ErrorBody, example = "Invalid or expired link."),
        TooManyAttempts
    )
)]
pub(crate) async fn redeem_password_link(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    JsonBody(PasswordChoiceRequest { token, password }): JsonBody<PasswordChoiceRequest>,
) -> JsonResult<Message> {
    let call = state.auth.redeem_password_link(&token, &password, context);
    state.refusals.pace(context, call.await).await?;
    Ok(message("Password updated successfully."))
}

/// The token of a password link.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordLinkRequest {
    /// The part of the link after `#`.
    #[schema(value_type = String, example = "rgl_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE")]
    token: SecretString,
}

/// The user whose password a link sets, and when the link expires.
#[derive(Serialize, ToSchema)]
pub(crate) struct PasswordLinkOwner {
    #[schema(example = "ada")]
    username: String,
    /// When the link expires, as RFC 3339 in UTC, to the second.
    #[schema(format = DateTime, example = "2026-11-22T06:00:00.000Z")]
    expires_at: String,
}

/// Look up a password link
///
/// Returns the user whose password the link sets, and when the link expires. Anyone who has the link may call this
/// endpoint, and the link can still be used. The token is in the request body, because addresses are logged.
#[utoipa::path(
    post,
    path = "/password-link",
    request_body = PasswordLinkRequest,
    responses(
        (status = 200, body = PasswordLinkOwner),
        (status = 400, description = "The link is unknown, used, replaced or expired, or the request \
                                      body is malformed.",
            body = ErrorBody, example = "Invalid or expired link."),
        TooManyAttempts
    )
)]
pub(crate) async fn read_password_link(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    JsonBody(PasswordLinkRequest { token }): JsonBody<PasswordLinkRequest>,
) -> JsonResult<PasswordLinkOwner> {
    let call = state.auth.password_link(&token, context);
    let link = state.refusals.pace(context, call.await).await?;
    Ok(Json(PasswordLinkOwner {
        username: link.username,
        expires_at: required_rfc3339(link.expires_at)?,
    }))
}
