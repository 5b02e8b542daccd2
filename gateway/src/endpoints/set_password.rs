//! `PUT /users/{user_id}/password`.

use super::{
    message::{Message, message},
    password_schema,
};
use crate::{
    extract::{json_body::JsonBody, path_id::UserId},
    openapi::responses::{ErrorBody, UserNotFound},
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext,
    axum::{ApiError, BearerToken},
};
use secrecy::SecretString;
use utoipa::ToSchema;

/// The password that the user is to have.
#[derive(ToSchema)]
pub(crate) struct PasswordUpdateRequest {
    #[schema(schema_with = password_schema::password)]
    password: SecretString,
}

impl PasswordUpdateRequest {
    fn read(mut body: JsonBody) -> Result<Self, ApiError> {
        Ok(Self { password: body.secret("password")? })
    }
}

/// Set the password of a user
///
/// Ends the tokens of that user.
#[utoipa::path(
    put,
    path = "/users/{user_id}/password",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    request_body(content = PasswordUpdateRequest, description = "At most 64 KiB."),
    responses(
        (
            status = 200,
            body = Message,
            example = json!({"message": "Password updated successfully."})
        ),
        (
            status = 400,
            description = "The password breaks a rule, or the id is no integer, or the request \
                           body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Password must have at most 72 bytes."})
        ),
        UserNotFound
    )
)]
pub(crate) async fn set_password(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    user_id: Result<UserId, ApiError>,
    body: JsonBody,
) -> Result<Json<Message>, ApiError> {
    let UserId(user_id) = user_id?;
    let PasswordUpdateRequest { password } = PasswordUpdateRequest::read(body)?;
    // The route table lets admins pass; auth-service checks the actor once more, and the rules of
    // passwords after 404.
    auth.set_password(&actor, user_id, &password, context).await?;
    Ok(message("Password updated successfully."))
}
