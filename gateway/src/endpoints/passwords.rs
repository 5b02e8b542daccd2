//! Changes of passwords.

use super::{Answer, Message, message, schemas};
use crate::{
    extract::{
        credentials::PersonalToken,
        json_body::{ItemBody, JsonBody},
    },
    openapi::responses::{AccessTokenNeeded, ErrorBody, TooManyAttempts},
    state::GatewayState,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::CallContext;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The current password and the new one.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordChangeRequest {
    #[schema(value_type = String, format = Password, example = "open sesame")]
    current_password: SecretString,
    #[schema(schema_with = schemas::new_password)]
    new_password: SecretString,
}

/// Change the current user's password
///
/// Revokes all tokens of the user, including an access token in this request: log in with the new password. Ends
/// all sessions but that of this request. API keys stay.
/// A wrong current password counts against the login rate limits.
#[utoipa::path(
    put,
    path = "/profile/password",
    request_body = PasswordChangeRequest,
    responses(
        (status = 200, body = Message, example = "Password updated successfully."),
        (status = 400, description = "The current password is wrong, the new one breaks a rule, \
                                      or the request body is malformed.",
            body = ErrorBody, example = "Current password is incorrect."),
        AccessTokenNeeded,
        TooManyAttempts
    )
)]
pub(crate) async fn change_password(
    State(state): State<GatewayState>,
    PersonalToken { client, username }: PersonalToken,
    JsonBody(request): JsonBody<PasswordChangeRequest>,
) -> Answer<Message> {
    let PasswordChangeRequest {
        current_password,
        new_password,
    } = request;
    let call = client.change_password(&username, &current_password, &new_password);
    state.refusals.answer(client.context(), call.await).await?;
    Ok(message("Password updated successfully."))
}

/// The user's new password.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordUpdateRequest {
    #[schema(schema_with = schemas::password)]
    password: SecretString,
}

/// Set another user's password
///
/// Revokes all tokens and ends all sessions of that user. Your own password needs the current one: `PUT /profile/password`.
#[utoipa::path(
    put,
    path = "/users/{user_id}/password",
    request_body = PasswordUpdateRequest,
    responses(
        (status = 200, body = Message, example = "Password updated successfully."),
        (status = 400, description = "The password breaks a rule, the user is oneself, the id is \
                                      not an integer, or the request body is malformed.",
            body = ErrorBody, example = "Password must have at most 72 bytes."),
        (status = 403, description = "The user's stored role is not `admin`, the caller presented \
                                      an API key, or only users choose their passwords.",
            body = ErrorBody, example = "Insufficient privileges.")
    )
)]
pub(crate) async fn set_password(
    State(state): State<GatewayState>,
    PersonalToken { client, .. }: PersonalToken,
    ItemBody(ids, PasswordUpdateRequest { password }): ItemBody<PasswordUpdateRequest>,
) -> Answer<Message> {
    let call = client.set_password(ids.only(), &password);
    state.refusals.answer(client.context(), call.await).await?;
    Ok(message("Password updated successfully."))
}

/// How many bytes a new password may have.
#[derive(Serialize, ToSchema)]
pub(crate) struct PasswordPolicy {
    #[schema(example = 8)]
    min_length: u32,
    #[schema(example = 72)]
    max_length: u32,
}

/// Get the rules of new passwords
///
/// Lengths are in bytes of UTF-8. A list of common passwords may refuse others.
#[utoipa::path(
    get,
    path = "/password-policy",
    responses((status = 200, body = PasswordPolicy))
)]
pub(crate) async fn password_policy(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
) -> Answer<PasswordPolicy> {
    let lengths = state.auth.password_lengths(context).await?;
    Ok(Json(PasswordPolicy {
        min_length: *lengths.start(),
        max_length: *lengths.end(),
    }))
}
