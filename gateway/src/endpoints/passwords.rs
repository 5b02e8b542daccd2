//! Changes passwords, and returns the rules for new ones.

use super::{
    JsonResult, Message, message,
    users::{UserNotFound, UserPath},
};
use crate::{
    extract::{
        credentials::PersonalToken,
        json_body::{JsonBody, PathIdsAndBody},
    },
    openapi::responses::{ErrorBody, PersonalTokenRequired, TooManyAttempts},
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

/// Returns the schema of a new password. A schema can express only some of the rules, and auth-service checks all of
/// them.
pub(super) fn password_schema() -> Object {
    password_like("open sesame")
}

/// Returns the schema of a new password in a body that also has the current password. The examples of the two must
/// differ.
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
            "A password of 1 to 72 bytes of UTF-8 without NUL. The service may require more than \
             1 byte. The password is used exactly as sent.",
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
/// Revokes all access tokens of the user, including one in this request, and ends all sessions except that of this
/// request. API keys stay valid. If the request has an access token, log in again with the new password.
///
/// A wrong current password counts against the rate limits of logins. Any user may call this endpoint, but not with an
/// API key.
#[utoipa::path(
    put,
    path = "/profile/password",
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
/// Revokes all access tokens and ends all sessions of the user. API keys stay valid. Only admins may call this
/// endpoint, and not with an API key. To change your own password, use `PUT /profile/password`.
///
/// A service can be configured so that only users choose their passwords. In that case, create a password link instead.
#[utoipa::path(
    put,
    path = "/users/{user_id}/password",
    params(UserPath),
    request_body = PasswordUpdateRequest,
    responses(
        (status = 200, body = Message, example = "Password updated successfully."),
        (status = 400, description = "The password breaks a rule, the user is the caller, the id \
                                      is not an integer, or the request body is malformed.",
            body = ErrorBody, example = "Password must have at most 72 bytes."),
        (status = 403, description = "The caller's stored role is not `admin`, the caller \
                                      presented an API key, or only users may choose their \
                                      passwords.",
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

/// The length that a new password may have, in bytes of UTF-8.
#[derive(Serialize, ToSchema)]
pub(crate) struct PasswordPolicy {
    #[schema(example = 8)]
    min_length: u32,
    #[schema(example = 72)]
    max_length: u32,
}

/// Get the password policy
///
/// Returns the minimum and the maximum length of a new password, in bytes of UTF-8. The service may also refuse common
/// passwords. Anyone may call this endpoint.
#[utoipa::path(
    get,
    path = "/password-policy",
    responses((status = 200, body = PasswordPolicy))
)]
pub(crate) async fn password_policy(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
) -> JsonResult<PasswordPolicy> {
    let policy = state.auth.password_policy(context).await?;
    Ok(Json(PasswordPolicy {
        min_length: policy.min_length,
        max_length: policy.max_length,
    }))
}
