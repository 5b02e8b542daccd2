//! Changes passwords, and tells the rules of new ones.

use super::{
    JsonResult, Message, message,
    users::{UserNotFound, UserPath},
};
use crate::{
    extract::{
        credentials::PersonalToken,
        json_body::{JsonBody, PathIdsAndBody},
    },
    openapi::{
        responses::{ErrorBody, PersonalTokenRequired, TooManyAttempts},
        tags,
    },
    state::GatewayState,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::CallContext;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{KnownFormat, Object, ObjectBuilder, SchemaFormat, Type},
};

/// Describes new passwords. A schema can express only some of their rules, and auth-service checks all of them.
pub(super) fn password_schema() -> Object {
    password_like("open sesame")
}

/// Describes a new password that stands beside the current one, and so has another example.
fn new_password_schema() -> Object {
    password_like("shut sesame")
}

#[expect(
    deprecated,
    reason = "the derive writes `example` for the fields beside it"
)]
fn password_like(example: &str) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
        .description(Some(
            "1 to 72 bytes of UTF-8 without NUL; the service may require more than 1. Used exactly \
             as sent.",
        ))
        .min_length(Some(1))
        .max_length(Some(72))
        .pattern(Some(r"^[^\u0000]*$"))
        .example(Some(json!(example)))
        .build()
}

/// The current password and the new one.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordChangeRequest {
    #[schema(value_type = String, format = Password, example = "open sesame")]
    current_password: SecretString,
    #[schema(schema_with = new_password_schema)]
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
    tag = tags::ACCOUNTS,
    request_body = PasswordChangeRequest,
    responses(
        (status = 200, body = Message, example = "Password updated successfully."),
        (status = 400, description = "The current password is wrong, the new one breaks a rule, \
                                      or the request body is malformed.",
            body = ErrorBody, example = "Current password is incorrect."),
        PersonalTokenRequired,
        TooManyAttempts
    )
)]
pub(crate) async fn change_password(
    State(state): State<GatewayState>,
    PersonalToken { client, username }: PersonalToken,
    JsonBody(request): JsonBody<PasswordChangeRequest>,
) -> JsonResult<Message> {
    let call = client.change_password(&username, &request.current_password, &request.new_password);
    state.refusals.pace(client.context(), call.await).await?;
    Ok(message("Password updated successfully."))
}

/// The user's new password.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordUpdateRequest {
    #[schema(schema_with = password_schema)]
    password: SecretString,
}

/// Set another user's password
///
/// Revokes all tokens and ends all sessions of that user. Your own password needs the current one: `PUT /profile/password`.
#[utoipa::path(
    put,
    path = "/users/{user_id}/password",
    tag = tags::USERS,
    params(UserPath),
    request_body = PasswordUpdateRequest,
    responses(
        (status = 200, body = Message, example = "Password updated successfully."),
        (status = 400, description = "The password breaks a rule, the user is oneself, the id is \
                                      not an integer, or the request body is malformed.",
            body = ErrorBody, example = "Password must have at most 72 bytes."),
        (status = 403, description = "The user's stored role is not `admin`, the caller presented \
                                      an API key, or only users choose their passwords.",
            body = ErrorBody, example = "Insufficient privileges."),
        UserNotFound
    )
)]
pub(crate) async fn set_password(
    State(state): State<GatewayState>,
    PersonalToken { client, .. }: PersonalToken,
    PathIdsAndBody(UserPath { user_id }, request): PathIdsAndBody<UserPath, PasswordUpdateRequest>,
) -> JsonResult<Message> {
    let call = client.set_password(user_id, &request.password);
    state.refusals.pace(client.context(), call.await).await?;
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
    tag = tags::ACCESS,
    responses((status = 200, body = PasswordPolicy))
)]
pub(crate) async fn password_policy(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
) -> JsonResult<PasswordPolicy> {
    let lengths = state.auth.password_lengths(context).await?;
    Ok(Json(PasswordPolicy {
        min_length: *lengths.start(),
        max_length: *lengths.end(),
    }))
}
