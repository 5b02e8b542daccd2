//! `PUT /users/{user_id}/role`.

use super::{
    message::{Message, message},
    role_name::RoleName,
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
use utoipa::ToSchema;

/// The role that the user is to have.
#[derive(ToSchema)]
pub(crate) struct RoleUpdateRequest {
    #[schema(value_type = RoleName)]
    role: String,
}

impl RoleUpdateRequest {
    fn read(mut body: JsonBody) -> Result<Self, ApiError> {
        Ok(Self { role: body.text("role")? })
    }
}

/// Set the role of a user
///
/// It counts from the next request of that user, whatever role the token names.
#[utoipa::path(
    put,
    path = "/users/{user_id}/role",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    request_body(content = RoleUpdateRequest, description = "At most 64 KiB."),
    responses(
        (
            status = 200,
            body = Message,
            example = json!({"message": "User role updated successfully."})
        ),
        (
            status = 400,
            description = "There is no such role, or the id is no integer, or the request body is \
                           malformed.",
            body = ErrorBody,
            example = json!({"detail": "Invalid role."})
        ),
        UserNotFound
    )
)]
pub(crate) async fn set_user_role(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    user_id: Result<UserId, ApiError>,
    body: JsonBody,
) -> Result<Json<Message>, ApiError> {
    let UserId(user_id) = user_id?;
    // A name that is no role is sent as none: 404 comes before `Invalid role.`.
    let role = RoleUpdateRequest::read(body)?.role.parse().ok();
    // The route table lets admins pass; auth-service checks the actor once more, because it trusts
    // no caller with that.
    auth.set_user_role(&actor, user_id, role, context).await?;
    Ok(message("User role updated successfully."))
}
