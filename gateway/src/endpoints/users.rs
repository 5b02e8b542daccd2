//! Administration of users: who they are, what they may do, and their access tokens.

use super::{Answer, Message, message, rfc3339, schemas::RoleName};
use crate::{
    extract::{
        json_body::ItemBody,
        parameters::{PathIds, QueryParams, id_parameter, limit_parameter, parameter},
    },
    openapi::responses::ErrorBody,
};
use axum::Json;
use rolegate_auth_client::{
    ActingClient, CallError, Reason, Role, User, UserPage, UserQuery, UserUpdate, axum::ApiError,
};
use rolegate_proto::http::HttpReason;
use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        ObjectBuilder, Ref, Type,
        path::{Parameter, ParameterIn},
    },
};

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub(crate) struct UserResponse {
    #[schema(minimum = 1, example = 2)]
    id: i64,
    #[schema(example = "ada")]
    username: String,
    #[schema(value_type = RoleName)]
    role: String,
    /// Whether every credential of the user is refused.
    disabled: bool,
}

impl From<User> for UserResponse {
    fn from(
        User {
            id,
            username,
            role,
            disabled,
            ..
        }: User,
    ) -> Self {
        Self {
            id,
            username,
            role: role.to_string(),
            disabled,
        }
    }
}

/// Get a user
#[utoipa::path(get, path = "/users/{user_id}", responses((status = 200, body = UserResponse)))]
pub(crate) async fn get_user(client: ActingClient, ids: PathIds) -> Answer<UserResponse> {
    Ok(Json(client.get_user(ids.only()).await?.into()))
}

/// A user in a list. The times are there with `include=times`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedUser)]
#[expect(clippy::option_option, reason = "missing and null are not the same")]
pub(crate) struct ListedUserResponse {
    #[serde(flatten)]
    user: UserResponse,
    /// RFC 3339 in UTC, to the second; null for a user from before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, required = false, example = "2026-11-21T06:00:00.000Z")]
    created_at: Option<Option<String>>,
    /// With a password, up to a minute late; null for none since it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, required = false, example = "2026-11-22T06:00:00.000Z")]
    last_sign_in_at: Option<Option<String>>,
}

/// A page of users by ascending id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserPage)]
pub(crate) struct UsersResponse {
    users: Vec<ListedUserResponse>,
    /// The `after` of the next page, null on the last page.
    #[schema(required, example = 2)]
    next: Option<i64>,
}

struct Filters;

impl IntoParams for Filters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        // Usernames have at most 255 bytes and no control characters.
        let prefix = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(255))
            .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$"))
            .build();
        let role = Ref::from_schema_name(RoleName::name());
        let starts_with = "Only users whose username starts with this; no wildcards.";
        let contains = "Only users whose username contains this, whatever the case of its letters; no \
                        wildcards. Reads all users: one search at a time for each admin, and 503 beyond.";
        let boolean = ObjectBuilder::new().schema_type(Type::Boolean);
        let times = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(["times"]));
        vec![
            limit_parameter("Maximum number of users."),
            id_parameter("after", "Only users with a greater id."),
            parameter("username", starts_with, prefix.clone().into()),
            parameter("search", contains, prefix.into()),
            parameter(
                "disabled",
                "Only users who are disabled, or are not.",
                boolean.into(),
            ),
            parameter(
                "include",
                "Adds `created_at` and `last_sign_in_at`.",
                times.into(),
            ),
            parameter("role", "Only users with this role.", role.into()),
        ]
    }
}

fn query(params: &QueryParams) -> Result<UserQuery, ApiError> {
    let role = |name: &str| {
        name.parse()
            .map_err(|_| CallError::local(Reason::RoleInvalid))
    };
    params.expect_only(&[
        "limit", "after", "username", "role", "search", "disabled", "include",
    ])?;
    Ok(UserQuery {
        limit: params.limit()?,
        after: params.id("after")?,
        username_prefix: params.get("username")?.unwrap_or_default().to_owned(),
        role: params.get("role")?.map(role).transpose()?,
        disabled: params
            .one_of("disabled", ["true", "false"])?
            .map(|value| value == "true"),
        search: params.get("search")?.unwrap_or_default().to_owned(),
        with_times: params.one_of("include", ["times"])?.is_some(),
    })
}

/// List users
///
/// Users come in ascending order of their ids.
#[utoipa::path(
    get,
    path = "/users",
    params(Filters),
    responses((status = 200, body = UsersResponse))
)]
pub(crate) async fn list_users(client: ActingClient, params: QueryParams) -> Answer<UsersResponse> {
    let UserPage { users, times, next } = client.list_users(query(&params)?).await?;
    let mut times = times.iter();
    let users = users.into_iter().map(|user| {
        let (user, times) = (user.into(), times.next());
        let created_at = times.map(|times| times.created_at.map(rfc3339));
        let last_sign_in_at = times.map(|times| times.last_login_at.map(rfc3339));
        ListedUserResponse {
            user,
            created_at,
            last_sign_in_at,
        }
    });
    Ok(Json(UsersResponse {
        users: users.collect(),
        next,
    }))
}

/// What to change. Other fields are refused: a caller must not take them for changed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub(crate) struct UserUpdateRequest {
    /// The new name.
    #[schema(
        nullable = false,
        min_length = 1,
        max_length = 255,
        example = "ada.lovelace"
    )]
    username: Option<String>,
    /// Whether every credential of the user is refused.
    #[schema(nullable = false)]
    disabled: Option<bool>,
}

/// Rename, disable or enable a user
///
/// A new name ends the access tokens of the user, which have the old one; sessions and API keys stay.
/// Every credential of a disabled user is refused from the next request on, as if the user did not
/// exist. Access tokens and sessions from before stay ended when the user is enabled again.
#[utoipa::path(
    patch,
    path = "/users/{user_id}",
    request_body = UserUpdateRequest,
    responses(
        (status = 200, body = UserResponse),
        (status = 400, description = "The name breaks a rule or is taken, the user is the last admin or the \
                                      user named `admin`, the id is not an integer, or the request body is \
                                      malformed, has another field or none.",
            body = ErrorBody, example = "Username already exists.")
    )
)]
pub(crate) async fn update_user(
    client: ActingClient,
    ItemBody(ids, UserUpdateRequest { username, disabled }): ItemBody<UserUpdateRequest>,
) -> Answer<UserResponse> {
    if username.is_none() && disabled.is_none() {
        let detail = "Field \"username\" or \"disabled\" is required.";
        return Err(ApiError::http(HttpReason::FieldInvalid, detail));
    }
    let update = UserUpdate { username, disabled };
    Ok(Json(client.update_user(ids.only(), update).await?.into()))
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
    request_body = RoleUpdateRequest,
    responses(
        (status = 200, body = Message, example = "User role updated successfully."),
        (status = 400, description = "The role does not exist, the user is the last admin, the id \
                                      is not an integer, or the request body is malformed.",
            body = ErrorBody, example = "Invalid role.")
    )
)]
pub(crate) async fn set_user_role(
    client: ActingClient,
    ItemBody(ids, RoleUpdateRequest { role }): ItemBody<RoleUpdateRequest>,
) -> Answer<Message> {
    // auth-service rejects an unknown role, because 404 comes before `Invalid role.`.
    client.set_user_role(ids.only(), role.parse().ok()).await?;
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
#[utoipa::path(get, path = "/roles", responses((status = 200, body = RolesResponse)))]
pub(crate) async fn list_roles(client: ActingClient) -> Answer<RolesResponse> {
    let roles = client.list_roles().await?;
    Ok(Json(RolesResponse {
        roles: roles.iter().map(Role::to_string).collect(),
    }))
}

/// End all access tokens and sessions of a user
///
/// The user can log in again at once. API keys stay.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/tokens",
    responses((status = 200, body = Message, example = "Tokens revoked."))
)]
pub(crate) async fn revoke_tokens(client: ActingClient, ids: PathIds) -> Answer<Message> {
    client.revoke_tokens(Some(ids.only())).await?;
    Ok(message("Tokens revoked."))
}

/// Delete a user
///
/// Revokes all tokens of the user. The id is never reused; the username can be registered again.
#[utoipa::path(
    delete,
    path = "/users/{user_id}",
    responses(
        (status = 200, body = Message, example = "User deleted successfully."),
        (status = 400, description = "The user is the caller or the user named `admin`, or the id \
                                      is not an integer.",
            body = ErrorBody, example = "This user cannot be deleted.")
    )
)]
pub(crate) async fn delete_user(client: ActingClient, ids: PathIds) -> Answer<Message> {
    client.delete_user(ids.only()).await?;
    Ok(message("User deleted successfully."))
}

#[cfg(test)]
mod tests;
