//! `GET /users/{user_id}`.

use super::user_response::UserResponse;
use crate::extract::path_id::PathId;
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext,
    axum::{ApiError, BearerToken},
};

/// Get a user
#[utoipa::path(
    get,
    path = "/users/{user_id}",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    responses((status = 200, body = UserResponse))
)]
pub(crate) async fn get_user(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathId(user_id): PathId,
) -> Result<Json<UserResponse>, ApiError> {
    Ok(Json(auth.get_user(&actor, user_id, context).await?.into()))
}
