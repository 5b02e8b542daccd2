//! Lets admins read, rename, disable and delete users, set their roles, and revoke their access tokens and sessions.

pub(crate) mod creation;
pub(crate) mod list;

use super::{JsonResult, Message, message};
use crate::{
    extract::{
        json_body::{PathIdsAndBody, invalid_field, parse_time_field},
        path_ids::PathIds,
    },
    openapi::responses::{ErrorBody, error_response},
};
use axum::Json;
use rolegate_auth_client::{ActingClient, CallError, Role};
use rolegate_proto::auth_v1::{
    DeleteUserRequest, GetUserRequest, ListRolesRequest, NoEnd, RevokeTokensRequest,
    UpdateUserRequest, User, update_user_request::End,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{
    IntoParams, ToSchema,
    openapi::{Object, ObjectBuilder, Type},
};

/// The id of a user in a path.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct UserPath {
    // The example is 2, because user 1 is the admin.
    /// The id of the user, an integer.
    #[param(example = 2)]
    pub(crate) user_id: i64,
}

error_response! {
    /// The error for a [`UserPath`] if there is no such user.
    UserNotFound = 404, "No user has this id.", ["User not found."]
}

/// A user.
#[derive(Serialize, ToSchema)]
#[schema(as = User)]
pub(crate) struct UserResponse {
    #[schema(minimum = 1, example = 2)]
    pub(super) id: i64,
    #[schema(example = "ada")]
    pub(super) username: String,
    #[schema(value_type = RoleName)]
    pub(super) role: String,
    /// True if every credential of the user is refused.
    disabled: bool,
}

impl TryFrom<User> for UserResponse {
    type Error = CallError;

    /// Converts a user. A malformed role is an error, because any other role in its place would be a guess.
    fn try_from(user: User) -> Result<Self, CallError> {
        let role =
            Role::from_message(&user.role_name, user.role).map_err(|_| CallError::Malformed)?;
        Ok(Self {
            id: user.id,
            username: user.username,
            role: role.to_string(),
            disabled: user.disabled,
        })
    }
}

/// A role, which decides what a user may do. The setting `EXTRA_ROLES` can add to these three.
#[derive(ToSchema)]
#[schema(as = Role, pattern = "^[a-z][a-z0-9_-]{0,31}$", examples("user", "author", "admin"))]
#[expect(dead_code, reason = "stands in schemas for a string")]
pub(crate) struct RoleName(String);

/// Returns the schema of a new username. A schema can express only some of the rules, and auth-service checks all of
/// them.
pub(super) fn username_schema() -> Object {
    // A username has neither control characters nor colons, and no white space at either end.
    let inside = r"[^\u0000-\u001f:\u007f-\u009f]";
    let end = r"[^\u0000-\u0020:\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "A username of 1 to 255 bytes of UTF-8 in Unicode NFC, without control and invisible \
             characters, colons, or white space at either end. It is compared byte for byte.",
        ))
        .min_length(Some(1))
        .max_length(Some(255))
        .pattern(Some(format!("^{end}({inside}*{end})?$")))
        .examples([json!("ada")])
        .build()
}

/// Get a user
///
/// Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/users/{user_id}",
    params(UserPath),
    responses((status = 200, body = UserResponse), UserNotFound)
)]
pub(crate) async fn get_user(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<UserResponse> {
    let response = client.send(GetUserRequest { user_id }).await?;
    let user = response.user.ok_or(CallError::Malformed)?;
    Ok(Json(user.try_into()?))
}

/// The fields to change. Other fields are refused, so that a caller does not take them for changed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::option_option, reason = "missing and null are not the same")]
#[schema(min_properties = 1)]
pub(crate) struct UserUpdateRequest {
    /// The new username.
    #[schema(
        nullable = false,
        min_length = 1,
        max_length = 255,
        example = "ada.lovelace"
    )]
    username: Option<String>,
    /// True to disable the user, so that every credential of the user is refused. False to enable the user again.
    #[schema(nullable = false)]
    disabled: Option<bool>,
    /// When the account ends, as RFC 3339, or null to remove the end. The time must be in the future. From then on, the
    /// user is treated as disabled.
    #[schema(format = DateTime, value_type = Option<String>, required = false,
        example = "2030-01-31T00:00:00Z")]
    until: Option<Option<String>>,
}

/// Update a user
///
/// Renames, disables or enables a user, or sets the end of the account. A request with several fields changes all of
/// them or none. Only admins may call this endpoint.
///
/// A new name ends the user's access tokens, because they contain the old one. Sessions and API keys stay valid. Every
/// credential of a disabled user is refused from the next request on, as if the user did not exist. Access tokens and
/// sessions from before stay ended when the user is enabled again. An account that has ended is treated in the same way.
/// If its end is moved or removed, tokens and sessions from before stay ended, too. Set ends only when every replica of
/// the service is of a release that knows them.
#[utoipa::path(
    patch,
    path = "/users/{user_id}",
    params(UserPath),
    request_body = UserUpdateRequest,
    responses(
        (status = 200, body = UserResponse),
        (status = 400, description = "The username or the end breaks a rule, the name is taken, the user is the \
                                      last admin or the user named `admin`, the id is not an integer, or the \
                                      request body is malformed, has an unknown field, or has no field.",
            body = ErrorBody, example = "Username already exists."),
        UserNotFound
    )
)]
pub(crate) async fn update_user(
    client: ActingClient,
    PathIdsAndBody(UserPath { user_id }, request): PathIdsAndBody<UserPath, UserUpdateRequest>,
) -> JsonResult<UserResponse> {
    let UserUpdateRequest {
        username,
        disabled,
        until,
    } = request;
    if username.is_none() && disabled.is_none() && until.is_none() {
        return Err(invalid_field(
            "Field \"username\", \"disabled\" or \"until\" is required.",
        ));
    }
    let end = match until {
        Some(Some(text)) => Some(End::Until(parse_time_field("until", &text)?)),
        Some(None) => Some(End::NoEnd(NoEnd {})),
        None => None,
    };
    let update = UpdateUserRequest {
        user_id,
        username,
        disabled,
        end,
    };
    Ok(Json(client.update_user(update).await?.try_into()?))
}

/// The user's new role.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RoleUpdateRequest {
    #[schema(value_type = RoleName)]
    role: String,
}

/// Set a user's role
///
/// The new role decides from the user's next request on, whatever role an access token names. Only admins may call this
/// endpoint.
#[utoipa::path(
    put,
    path = "/users/{user_id}/role",
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
    PathIdsAndBody(UserPath { user_id }, request): PathIdsAndBody<UserPath, RoleUpdateRequest>,
) -> JsonResult<Message> {
    // auth-service rejects an unknown role, not the gateway, because the 404 for an unknown user has precedence.
    client.set_user_role(user_id, request.role).await?;
    Ok(message("User role updated successfully."))
}

/// The roles that users can have.
#[derive(Serialize, ToSchema)]
#[schema(as = Roles)]
pub(crate) struct RolesResponse {
    #[schema(value_type = Vec<RoleName>, example = json!(["user", "author", "admin"]))]
    roles: Vec<String>,
}

/// List the roles
///
/// Returns the roles that users can have. Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/roles",
    responses((status = 200, body = RolesResponse))
)]
pub(crate) async fn list_roles(client: ActingClient) -> JsonResult<RolesResponse> {
    let roles = client.send(ListRolesRequest {}).await?.role_names;
    if roles.iter().any(|name| name.parse::<Role>().is_err()) {
        return Err(CallError::Malformed.into());
    }
    Ok(Json(RolesResponse { roles }))
}

/// Revoke the access tokens and sessions of a user
///
/// The user can log in again at once. API keys stay valid. Only admins may call this endpoint.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/tokens",
    params(UserPath),
    responses((status = 200, body = Message, example = "Tokens revoked."), UserNotFound)
)]
pub(crate) async fn revoke_tokens(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<Message> {
    let request = RevokeTokensRequest {
        user_id: Some(user_id),
        ..RevokeTokensRequest::default()
    };
    client.send(request).await?;
    Ok(message("Tokens revoked."))
}

/// Delete a user
///
/// Ends all credentials of the user. The id is never used again, but the username can be registered again. Only admins
/// may call this endpoint.
#[utoipa::path(
    delete,
    path = "/users/{user_id}",
    params(UserPath),
    responses(
        (status = 200, body = Message, example = "User deleted successfully."),
        (status = 400, description = "The user is the caller or the user named `admin`, or the id \
                                      is not an integer.",
            body = ErrorBody, example = "This user cannot be deleted."),
        UserNotFound
    )
)]
pub(crate) async fn delete_user(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<Message> {
    client.send(DeleteUserRequest { user_id }).await?;
    Ok(message("User deleted successfully."))
}
