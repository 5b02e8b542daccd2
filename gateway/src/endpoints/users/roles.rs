//! The roles of users.

use super::{RoleName, UserNotFound, UserPath};
use crate::{
    endpoints::{JsonResult, Message, message},
    extract::json_body::ItemBody,
    openapi::{responses::ErrorBody, tags},
};
use axum::Json;
use rolegate_auth_client::{ActingClient, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    tag = tags::USERS,
    params(UserPath),
    request_body = RoleUpdateRequest,
    responses(
        (status = 200, body = Message, example = "User role updated successfully."),
        (status = 400, description = "The role does not exist, the user is the last admin, the id \
                                      is not an integer, or the request body is malformed.",
            body = ErrorBody, example = "Invalid role."),
        UserNotFound
    )
)]
pub(crate) async fn set_user_role(
    client: ActingClient,
    ItemBody(UserPath { user_id }, request): ItemBody<UserPath, RoleUpdateRequest>,
) -> JsonResult<Message> {
    // auth-service rejects an unknown role, because 404 comes before `Invalid role.`.
    let role = request.role.parse().ok();
    client.set_user_role(user_id, role).await?;
    Ok(message("User role updated successfully."))
}

/// The roles that users can have.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Roles)]
pub(crate) struct RolesResponse {
    #[schema(value_type = Vec<RoleName>, example = json!(["user", "author", "admin"]))]
    roles: Vec<String>,
}

/// List the roles
#[utoipa::path(
    get,
    path = "/roles",
    tag = tags::USERS,
    responses((status = 200, body = RolesResponse))
)]
pub(crate) async fn list_roles(client: ActingClient) -> JsonResult<RolesResponse> {
    let roles = client.list_roles().await?;
    Ok(Json(RolesResponse {
        roles: roles.iter().map(Role::to_string).collect(),
    }))
}
