//! `DELETE /users/{user_id}`.

use super::message::{Message, message};
use crate::{extract::path_id::PathId, openapi::responses::ErrorBody};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext,
    axum::{ApiError, BearerToken},
};

/// Delete a user
///
/// Revokes all tokens of the user. The id is never reused; the username can be registered again.
#[utoipa::path(
    delete,
    path = "/users/{user_id}",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    responses(
        (status = 200, body = Message, example = json!({"message": "User deleted successfully."})),
        (
            status = 400,
            description = "The user is the caller or the user named `admin`, or the id is not an \
                           integer.",
            body = ErrorBody,
            example = json!({"detail": "This user cannot be deleted."})
        )
    )
)]
pub(crate) async fn delete_user(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathId(user_id): PathId,
) -> Result<Json<Message>, ApiError> {
    auth.delete_user(&actor, user_id, context).await?;
    Ok(message("User deleted successfully."))
}
