//! `PATCH /users/{user_id}`.

use super::user_response::UserResponse;
use crate::{
    extract::{json_body::JsonBody, path_id::PathId},
    openapi::responses::ErrorBody,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext,
    axum::{ApiError, BearerToken},
};
use serde::Deserialize;
use utoipa::ToSchema;

/// What to change. Other fields are refused: a caller must not take them for changed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserUpdateRequest {
    /// Whether every credential of the user is refused.
    disabled: bool,
}

/// Disable or enable a user
///
/// Every credential of a disabled user is refused from the next request on, as if the user did not
/// exist. Access tokens from before stay revoked when the user is enabled again.
#[utoipa::path(
    patch,
    path = "/users/{user_id}",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    request_body(content = UserUpdateRequest, description = "At most 64 KiB."),
    responses(
        (status = 200, body = UserResponse),
        (
            status = 400,
            description = "The user is the last admin, the id is not an integer, or the request body \
                           is malformed or has another field.",
            body = ErrorBody,
            example = json!({"detail": "The last admin cannot be removed."})
        )
    )
)]
pub(crate) async fn update_user(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    user_id: Result<PathId, ApiError>,
    JsonBody(request): JsonBody<UserUpdateRequest>,
) -> Result<Json<UserResponse>, ApiError> {
    let PathId(user_id) = user_id?;
    let UserUpdateRequest { disabled } = request?;
    let user = auth.set_user_disabled(&actor, user_id, disabled, context).await?;
    Ok(Json(user.into()))
}
