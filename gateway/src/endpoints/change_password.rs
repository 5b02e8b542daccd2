//! `PUT /profile/password`.

use super::{
    message::{Message, message},
    password_schema,
};
use crate::{
    extract::json_body::JsonBody,
    openapi::responses::{ErrorBody, TooManyAttempts},
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext,
    axum::{ApiError, BearerToken, CurrentUser},
};
use secrecy::SecretString;
use utoipa::ToSchema;

/// The password as it is, and as it is to be.
#[derive(ToSchema)]
pub(crate) struct PasswordChangeRequest {
    #[schema(value_type = String, format = Password, example = "open sesame")]
    current_password: SecretString,
    #[schema(schema_with = password_schema::new_password)]
    new_password: SecretString,
}

impl PasswordChangeRequest {
    fn read(mut body: JsonBody) -> Result<Self, ApiError> {
        let current_password = body.secret("current_password")?;
        Ok(Self { current_password, new_password: body.secret("new_password")? })
    }
}

/// Change your own password
///
/// Ends your tokens, the one of this request included: log in with the new password. Wrong guesses
/// of the current one count against the limits of a login.
#[utoipa::path(
    put,
    path = "/profile/password",
    tag = "Accounts",
    security(("bearer" = [])),
    request_body(content = PasswordChangeRequest, description = "At most 64 KiB."),
    responses(
        (
            status = 200,
            body = Message,
            example = json!({"message": "Password updated successfully."})
        ),
        (
            status = 400,
            description = "The current password is wrong, or the new one breaks a rule, or the \
                           request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Current password is incorrect."})
        ),
        TooManyAttempts
    )
)]
pub(crate) async fn change_password(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    _: CurrentUser,
    BearerToken(token): BearerToken,
    body: JsonBody,
) -> Result<Json<Message>, ApiError> {
    let PasswordChangeRequest { current_password, new_password } =
        PasswordChangeRequest::read(body)?;
    // Any user with a good token was let pass before the body was read; auth-service asks again.
    auth.change_password(&token, &current_password, &new_password, context).await?;
    Ok(message("Password updated successfully."))
}
