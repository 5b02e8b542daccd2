//! Creates the links by which users choose their passwords, and redeems them.

use super::{
    JsonResult, Message, message,
    passwords::password_schema,
    rfc3339,
    users::{UserNotFound, UserPath},
};
use crate::{
    extract::{credentials::PersonalToken, json_body::JsonBody, path_ids::PathIds},
    openapi::{
        responses::{AdminTokenRequired, ErrorBody, TooManyAttempts},
        tags,
    },
    state::GatewayState,
};
use axum::{Extension, Json, extract::State, response::IntoResponse};
use http::StatusCode;
use rolegate_auth_client::{CallContext, PasswordLink, axum::ApiError};
use rolegate_sign_in::password_link::password_link_url;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A link by which a user chooses a password. It is shown only here.
#[derive(Serialize, ToSchema)]
#[schema(as = PasswordLink)]
pub(crate) struct PasswordLinkResponse {
    /// At the origin of `SIGN_IN_URL`, or a path of this service if that is one.
    #[schema(example = "https://auth.example.org/set-password#rgl_Zm9vYmFy...")]
    url: String,
    /// RFC 3339 in UTC, to the second.
    #[schema(format = DateTime, example = "2026-11-22T06:00:00.000Z")]
    expires_at: String,
}

impl PasswordLinkResponse {
    pub(super) fn new(state: &GatewayState, link: &PasswordLink) -> Self {
        let url = password_link_url(&state.sign_in_url, &link.token);
        Self {
            url: url.expose_secret().to_owned(),
            expires_at: rfc3339(link.expires_at),
        }
    }
}

/// Make a link by which another user chooses a password
///
/// It is good once, for 24 hours, until there is a newer one or another password, or the user is disabled. Whoever has
/// it can choose the password, so nobody but the user should see it.
#[utoipa::path(
    post,
    path = "/users/{user_id}/password-link",
    tag = tags::USERS,
    params(UserPath),
    responses(
        (status = 201, description = "The new link.", body = PasswordLinkResponse),
        (status = 400, description = "The user is oneself, or the id is not an integer.",
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

/// The token of a link, and the password that its user chose.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordChoiceRequest {
    /// What is behind `#` in the link.
    #[schema(value_type = String, example = "rgl_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE")]
    token: SecretString,
    #[schema(schema_with = password_schema)]
    password: SecretString,
}

/// Choose a password by a link
///
/// Revokes all tokens and ends all sessions of the user. API keys and a second factor stay. A password that breaks a
/// rule leaves the link good.
#[utoipa::path(
    put,
    path = "/password",
    tag = tags::ACCOUNTS,
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

/// The token of a link.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordLinkRequest {
    /// What is behind `#` in the link.
    #[schema(value_type = String, example = "rgl_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE")]
    token: SecretString,
}

/// Whose password a link sets, and until when.
#[derive(Serialize, ToSchema)]
pub(crate) struct PasswordLinkOwner {
    #[schema(example = "ada")]
    username: String,
    /// RFC 3339 in UTC, to the second.
    #[schema(format = DateTime, example = "2026-11-22T06:00:00.000Z")]
    expires_at: String,
}

/// Find out whose password a link sets
///
/// The link stays good. The token is in the body, because addresses are logged.
#[utoipa::path(
    post,
    path = "/password-link",
    tag = tags::ACCESS,
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
    let (username, expires_at) = state.refusals.pace(context, call.await).await?;
    Ok(Json(PasswordLinkOwner {
        username,
        expires_at: rfc3339(expires_at),
    }))
}
