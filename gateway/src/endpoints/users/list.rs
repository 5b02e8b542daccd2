//! Serves `GET /users`, which lists the users that match filters.

use super::{RoleName, UserResponse};
use crate::{
    endpoints::{JsonResult, groups::GroupName, optional_rfc3339},
    extract::query_params::{QueryParams, invalid_query},
    openapi::parameters::{id_parameter, limit_parameter, query_parameter},
};
use axum::Json;
use prost_types::Timestamp;
use rolegate_auth_client::{ActingClient, CallError, Reason, Role, axum::ApiError};
use rolegate_proto::auth_v1::{ListUsersRequest, User, UserTimes};
use serde::Serialize;
use std::mem;
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        ObjectBuilder, Ref, Type,
        path::{Parameter, ParameterIn},
    },
};

/// A user in a list. The times are present with `include=times`, and groups and end with `include=groups`.
#[derive(Serialize, ToSchema)]
#[schema(as = ListedUser)]
#[expect(clippy::option_option, reason = "missing and null are not the same")]
pub(crate) struct ListedUserResponse {
    #[serde(flatten)]
    user: UserResponse,
    /// When the user was created, as RFC 3339 in UTC, to the second. Null if the service did not store it at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, required = false, example = "2026-11-21T06:00:00.000Z")]
    created_at: Option<Option<String>>,
    /// When the user last signed in with a password, up to a minute late. Null if the service has recorded no such
    /// sign-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, required = false, example = "2026-11-22T06:00:00.000Z")]
    last_sign_in_at: Option<Option<String>>,
    /// The names of the groups that the user is in, in ascending order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<GroupName>, required = false)]
    groups: Option<Vec<String>>,
    /// When the account ends, as RFC 3339 in UTC. Null if it has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, required = false, example = "2030-01-31T00:00:00.000Z")]
    until: Option<Option<String>>,
}

impl ListedUserResponse {
    fn new(mut user: User, times: Option<UserTimes>, with_groups: bool) -> Result<Self, CallError> {
        let groups = with_groups.then(|| mem::take(&mut user.group_names));
        let until = user.until.map(|seconds| Timestamp { seconds, nanos: 0 });
        let until = with_groups.then(|| optional_rfc3339(until)).transpose()?;
        Ok(Self {
            groups,
            until,
            user: user.try_into()?,
            created_at: times
                .map(|times| optional_rfc3339(times.created_at))
                .transpose()?,
            last_sign_in_at: times
                .map(|times| optional_rfc3339(times.last_login_at))
                .transpose()?,
        })
    }
}

/// A page of users, in ascending order of their ids.
#[derive(Serialize, ToSchema)]
#[schema(as = UserPage)]
pub(crate) struct UsersResponse {
    users: Vec<ListedUserResponse>,
    /// The value of `after` for the next page. Null on the last page.
    #[schema(required, example = 2)]
    next: Option<i64>,
}

/// The query parameters of `GET /users`.
struct UserFilters;

impl IntoParams for UserFilters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        // A username has at most 255 bytes and no control characters, so neither does a part of one.
        let part_of_username = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(255))
            .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$"))
            .build();
        let boolean = ObjectBuilder::new().schema_type(Type::Boolean);
        let included = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(["times", "groups", "times,groups"]));
        vec![
            limit_parameter("The maximum number of users on the page."),
            id_parameter(
                "after",
                "Return only users with a greater id. Pass the `next` of the previous page.",
            ),
            query_parameter(
                "username",
                "Return only users whose username starts with this text. There are no wildcards.",
                part_of_username.clone(),
            ),
            query_parameter(
                "search",
                "Return only users whose username contains this text, whatever the case of its \
                 letters. There are no wildcards. A search reads all users, so each admin may run \
                 one at a time, and another one gets 503.",
                part_of_username,
            ),
            query_parameter(
                "disabled",
                "Return only users who are disabled, or only users who are not.",
                boolean,
            ),
            query_parameter(
                "include",
                "Add properties to each user: `times` adds `created_at` and `last_sign_in_at`, and \
                 `groups` adds `groups` and `until`.",
                included,
            ),
            query_parameter(
                "role",
                "Return only users with this role.",
                Ref::from_schema_name(RoleName::name()),
            ),
        ]
    }
}

/// The properties that are added to each user.
#[derive(Default)]
struct Included {
    times: bool,
    groups: bool,
}

impl Included {
    fn read(params: &QueryParams) -> Result<Self, ApiError> {
        let Some(names) = params.get("include")? else {
            return Ok(Self::default());
        };
        let mut included = Self::default();
        for name in names.split(',') {
            match name {
                "times" if !included.times => included.times = true,
                "groups" if !included.groups => included.groups = true,
                _ => {
                    let rule = "Query parameter \"include\" must be times or groups.";
                    return Err(invalid_query(rule));
                }
            }
        }
        Ok(included)
    }
}

fn query(params: &QueryParams) -> Result<ListUsersRequest, ApiError> {
    params.expect_only(&[
        "limit", "after", "username", "role", "search", "disabled", "include",
    ])?;
    let page_size = params.page_size()?;
    let after = params.after()?;
    let username_prefix = params.get("username")?.unwrap_or_default().to_owned();
    let role: Option<Role> = params
        .get("role")?
        .map(str::parse)
        .transpose()
        .map_err(|_| CallError::local(Reason::RoleInvalid))?;
    Ok(ListUsersRequest {
        page_size,
        after,
        username_prefix,
        // The number is for an auth-service of the previous release.
        role: role.map(Role::request_number),
        role_name: role.map(|role| role.to_string()),
        disabled: params
            .one_of("disabled", ["true", "false"])?
            .map(|value| value == "true"),
        search: params.get("search")?.unwrap_or_default().to_owned(),
        with_times: Included::read(params)?.times,
    })
}

/// List users
///
/// Returns users in ascending order of their ids. Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/users",
    params(UserFilters),
    responses((status = 200, body = UsersResponse))
)]
pub(crate) async fn list_users(
    client: ActingClient,
    params: QueryParams,
) -> JsonResult<UsersResponse> {
    let request = query(&params)?;
    let with_groups = Included::read(&params)?.groups;
    let page = client.list_users(request).await?;
    // An auth-service of the previous release sends no groups. The properties are then left out, because an empty list
    // would say that nobody is in a group.
    let with_groups = with_groups && page.has_groups;
    // A page has the times of every user, or of none.
    let mut times = page.times.into_iter();
    let users = page.users.into_iter();
    Ok(Json(UsersResponse {
        users: users
            .map(|user| ListedUserResponse::new(user, times.next(), with_groups))
            .collect::<Result<_, _>>()?,
        next: page.next_after,
    }))
}

#[cfg(test)]
mod tests;
