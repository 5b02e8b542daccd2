//! `PUT /users/{user_id}/password`.

use super::{
    message::{Message, message},
    password_schema,
};
use crate::{
    extract::{json_body::JsonBody, path_id::PathId, personal_token::PersonalToken},
    openapi::responses::ErrorBody,
    refusals::Refusals,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{AuthClient, CallContext, axum::ApiError};
use secrecy::SecretString;
use serde::Deserialize;
use utoipa::ToSchema;

const SUCCESS: &str = "Password updated successfully.";

/// The user's new password.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordUpdateRequest {
    #[schema(schema_with = password_schema::password)]
    password: SecretString,
}

/// Set another user's password
///
/// Revokes all tokens of that user. Your own password needs the current one: `PUT /profile/password`.
#[utoipa::path(
    put,
    path = "/users/{user_id}/password",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    request_body(content = PasswordUpdateRequest, description = "At most 64 KiB."),
    responses(
        (status = 200, body = Message, example = json!({"message": SUCCESS})),
        (
            status = 400,
            description = "The password breaks a rule, the user is oneself, the id is not an \
                           integer, or the request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Password must have at most 72 bytes."})
        ),
        (
            status = 403,
            description = "The user's stored role is not `admin`, or the caller presented an API key.",
            body = ErrorBody,
            example = json!({"detail": "Insufficient privileges."})
        )
    )
)]
pub(crate) async fn set_password(
    State(auth): State<AuthClient>,
    State(refusals): State<Refusals>,
    Extension(context): Extension<CallContext>,
    PersonalToken { token: actor, .. }: PersonalToken,
    user_id: Result<PathId, ApiError>,
    JsonBody(request): JsonBody<PasswordUpdateRequest>,
) -> Result<Json<Message>, ApiError> {
    let PathId(user_id) = user_id?;
    let PasswordUpdateRequest { password } = request?;
    let call = auth.set_password(&actor, user_id, &password, context);
    refusals.other(context, call).await?;
    Ok(message(SUCCESS))
}
