//! Roles of users.

use super::{Message, message};
use crate::{extract::json_body::ItemBody, openapi::responses::ErrorBody};
use axum::Json;
use rolegate_auth_client::{ActingClient, Role, axum::ApiError};
use serde::Deserialize;
use std::borrow::Cow;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

/// Stands in schemas for a `String` that holds the name of a [`Role`].
pub(super) struct RoleName;

impl PartialSchema for RoleName {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("What a user may do."))
            .enum_values(Some(Role::ALL.map(Role::as_str)))
            .into()
    }
}

impl ToSchema for RoleName {
    fn name() -> Cow<'static, str> {
        "Role".into()
    }
}

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
    request_body(content = RoleUpdateRequest, description = "At most 64 KiB."),
    responses(
        (
            status = 200,
            body = Message,
            example = json!({"message": "User role updated successfully."})
        ),
        (status = 400, description = "The role does not exist, the user is the last admin, the id \
                                      is not an integer, or the request body is malformed.",
            body = ErrorBody, example = json!({"detail": "Invalid role."}))
    )
)]
pub(crate) async fn set_user_role(
    client: ActingClient,
    ItemBody(user_id, RoleUpdateRequest { role }): ItemBody<RoleUpdateRequest>,
) -> Result<Json<Message>, ApiError> {
    // auth-service rejects an unknown role, because 404 comes before `Invalid role.`.
    client.set_user_role(user_id, role.parse().ok()).await?;
    Ok(message("User role updated successfully."))
}
