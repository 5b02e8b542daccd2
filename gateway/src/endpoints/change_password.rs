//! `PUT /profile/password`.

use super::{
    message::{Message, message},
    password_schema,
};
use crate::{
    extract::{json_body::JsonBody, personal_token::PersonalToken},
    openapi::responses::{AccessTokenNeeded, ErrorBody, TooManyAttempts},
    refusals::Refusals,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{AuthClient, CallContext, axum::ApiError};
use secrecy::SecretString;
use serde::Deserialize;
use utoipa::ToSchema;

const SUCCESS: &str = "Password updated successfully.";

/// The current password and the new one.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PasswordChangeRequest {
    #[schema(value_type = String, format = Password, example = "open sesame")]
    current_password: SecretString,
    #[schema(schema_with = password_schema::new_password)]
    new_password: SecretString,
}

/// Change the current user's password
///
/// Revokes all tokens of the user, including the one in this request: log in with the new password. API keys stay.
/// A wrong current password counts against the login rate limits.
#[utoipa::path(
    put,
    path = "/profile/password",
    tag = "Accounts",
    security(("bearer" = [])),
    request_body(content = PasswordChangeRequest, description = "At most 64 KiB."),
    responses(
        (status = 200, body = Message, example = json!({"message": SUCCESS})),
        (
            status = 400,
            description = "The current password is wrong, the new one breaks a rule, or the request \
                           body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Current password is incorrect."})
        ),
        AccessTokenNeeded,
        TooManyAttempts
    )
)]
pub(crate) async fn change_password(
    State(auth): State<AuthClient>,
    State(refusals): State<Refusals>,
    Extension(context): Extension<CallContext>,
    // Rejects an invalid token before the body is read.
    PersonalToken { token, username }: PersonalToken,
    JsonBody(request): JsonBody<PasswordChangeRequest>,
) -> Result<Json<Message>, ApiError> {
    let PasswordChangeRequest { current_password, new_password } = request?;
    let call = auth.change_password(&token, &username, &current_password, &new_password, context);
    refusals.other(context, call).await?;
    Ok(message(SUCCESS))
}
