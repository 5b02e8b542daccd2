//! `PUT /users/{user_id}/role`.

use super::{
    message::{Message, message},
    role_name::RoleName,
};
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

const SUCCESS: &str = "User role updated successfully.";

/// The user's new role.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RoleUpdateRequest {
    #[schema(value_type = RoleName)]
    role: String,
}

/// Set a user's role
///
/// Takes effect on the user's next request, whatever role the token names.
#[utoipa::path(
    put,
    path = "/users/{user_id}/role",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    request_body(content = RoleUpdateRequest, description = "At most 64 KiB."),
    responses(
        (status = 200, body = Message, example = json!({"message": SUCCESS})),
        (
            status = 400,
            description = "The role does not exist, the user is the last admin, the id is not an \
                           integer, or the request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Invalid role."})
        )
    )
)]
pub(crate) async fn set_user_role(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    user_id: Result<PathId, ApiError>,
    JsonBody(request): JsonBody<RoleUpdateRequest>,
) -> Result<Json<Message>, ApiError> {
    let PathId(user_id) = user_id?;
    // auth-service rejects an unknown role, because 404 comes before `Invalid role.`.
    let role = request?.role.parse().ok();
    auth.set_user_role(&actor, user_id, role, context).await?;
    Ok(message(SUCCESS))
}
