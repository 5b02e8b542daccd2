//! `DELETE /users/{user_id}/tokens`.

use super::message::{Message, message};
use crate::extract::path_id::PathId;
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext,
    axum::{ApiError, BearerToken},
};

/// End all access tokens of a user
///
/// The user can log in again at once. API keys stay.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/tokens",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    responses((status = 200, body = Message, example = json!({"message": "Tokens revoked."})))
)]
pub(crate) async fn revoke_tokens(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathId(user_id): PathId,
) -> Result<Json<Message>, ApiError> {
    auth.revoke_tokens(&actor, Some(user_id), context).await?;
    Ok(message("Tokens revoked."))
}
