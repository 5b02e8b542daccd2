//! Manages the memberships of users in groups for admins, and lists the groups of a user.

use super::{GroupName, GroupNotFound, GroupPath, PAGE_PARAMS, PageParams};
use crate::{
    endpoints::{
        CURRENT_USER, JsonResult, Message, convert_all, message, optional_rfc3339,
        users::{UserNotFound, UserPath},
    },
    extract::{
        json_body::{PathIdsAndBody, parse_time_field},
        path_ids::PathIds,
        query_params::QueryParams,
    },
    openapi::responses::{ErrorBody, error_response},
};
use axum::Json;
use rolegate_auth_client::{ActingClient, CallError};
use rolegate_proto::auth_v1::{
    DeleteMembershipRequest, ListMembersRequest, ListUserGroupsRequest, Member,
    SetMembershipRequest, UserGroup,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The ids of a group and of one of its members in a path.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct MemberPath {
    /// The id of the group, an integer.
    #[param(example = 1)]
    group_id: i64,
    /// The id of the user, an integer.
    #[param(example = 2)]
    user_id: i64,
}

error_response! {
    /// The error for a [`MemberPath`] if there is no such group or no such user.
    GroupOrUserNotFound = 404, "No group or no user has this id.", ["Group not found.", "User not found."]
}

error_response! {
    /// The error for a [`MemberPath`] if there is no such group, no such user, or the user is not in the group.
    MembershipNotFound = 404,
    "No group or no user has this id, or the user is not in the group.",
    ["Group not found.", "User not found.", "Membership not found."]
}

/// A member of a group.
#[derive(Serialize, ToSchema)]
#[schema(as = Member)]
pub(crate) struct MemberResponse {
    #[schema(minimum = 1, example = 2)]
    user_id: i64,
    #[schema(example = "ada")]
    username: String,
    /// When the membership ends, as RFC 3339 in UTC. Null if it has no end.
    #[schema(format = DateTime, required, example = "2030-01-31T00:00:00.000Z")]
    until: Option<String>,
}

impl TryFrom<Member> for MemberResponse {
    type Error = CallError;

    fn try_from(member: Member) -> Result<Self, CallError> {
        Ok(Self {
            user_id: member.user_id,
            username: member.username,
            until: optional_rfc3339(member.until)?,
        })
    }
}

/// A page of the members of a group, in ascending order of their ids.
#[derive(Serialize, ToSchema)]
#[schema(as = MemberPage)]
pub(crate) struct MembersResponse {
    members: Vec<MemberResponse>,
    /// The value of `after` for the next page. Null on the last page.
    #[schema(required, example = 2)]
    next: Option<i64>,
}

/// A group that a user is in.
#[derive(Serialize, ToSchema)]
#[schema(as = UserGroup)]
pub(crate) struct UserGroupResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    #[schema(value_type = GroupName)]
    name: String,
    /// When the membership ends, as RFC 3339 in UTC. Null if it has no end.
    #[schema(format = DateTime, required, example = "2030-01-31T00:00:00.000Z")]
    until: Option<String>,
}

impl TryFrom<UserGroup> for UserGroupResponse {
    type Error = CallError;

    fn try_from(group: UserGroup) -> Result<Self, CallError> {
        Ok(Self {
            id: group.id,
            name: group.name,
            until: optional_rfc3339(group.until)?,
        })
    }
}

/// The groups that a user is in, in ascending order of their ids.
#[derive(Serialize, ToSchema)]
#[schema(as = UserGroups)]
pub(crate) struct UserGroupsResponse {
    groups: Vec<UserGroupResponse>,
}

/// List the members of a group
///
/// Returns the users who are in the group, in ascending order of their ids. Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/groups/{group_id}/members",
    params(GroupPath, PageParams),
    responses((status = 200, body = MembersResponse), GroupNotFound)
)]
pub(crate) async fn list_members(
    client: ActingClient,
    PathIds(GroupPath { group_id }): PathIds<GroupPath>,
    params: QueryParams,
) -> JsonResult<MembersResponse> {
    params.expect_only(&PAGE_PARAMS)?;
    let request = ListMembersRequest {
        group_id,
        page_size: params.page_size()?,
        after: params.after()?,
    };
    let response = client.send(request).await?;
    Ok(Json(MembersResponse {
        members: convert_all(response.members)?,
        next: response.next_after,
    }))
}

/// The end of a membership. Unknown fields are refused, because a misspelled end would give access without one.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::option_option, reason = "missing and null mean the same here")]
pub(crate) struct MembershipRequest {
    /// When the membership ends, as RFC 3339. The time must be in the future. If it is missing or null, the membership
    /// has no end.
    #[schema(format = DateTime, value_type = Option<String>, required = false,
        example = "2030-01-31T00:00:00Z")]
    until: Option<Option<String>>,
}

/// Add a user to a group
///
/// If the user is in the group already, the end of the membership is replaced. The membership ends to the second: from
/// then on, no request is admitted by it. Only admins may call this endpoint, and not with an API key of that user.
#[utoipa::path(
    put,
    path = "/groups/{group_id}/members/{user_id}",
    params(MemberPath),
    request_body = Option<MembershipRequest>,
    responses(
        (status = 200, body = Message, example = "Membership saved."),
        (status = 400, description = "The end breaks a rule, the user is in 100 groups already, an id is not an \
                                      integer, or the request body is malformed or has an unknown field.",
            body = ErrorBody, example = "End must be in the future."),
        GroupOrUserNotFound
    )
)]
pub(crate) async fn set_membership(
    client: ActingClient,
    PathIdsAndBody(MemberPath { group_id, user_id }, request): PathIdsAndBody<
        MemberPath,
        Option<MembershipRequest>,
    >,
) -> JsonResult<Message> {
    let until = request.unwrap_or_default().until.flatten();
    let request = SetMembershipRequest {
        group_id,
        user_id,
        until: until
            .map(|text| parse_time_field("until", &text))
            .transpose()?,
    };
    client.send(request).await?;
    Ok(message("Membership saved."))
}

/// Remove a user from a group
///
/// Only admins may call this endpoint, and not with an API key of that user.
#[utoipa::path(
    delete,
    path = "/groups/{group_id}/members/{user_id}",
    params(MemberPath),
    responses((status = 200, body = Message, example = "Membership removed."), MembershipNotFound)
)]
pub(crate) async fn delete_membership(
    client: ActingClient,
    PathIds(MemberPath { group_id, user_id }): PathIds<MemberPath>,
) -> JsonResult<Message> {
    let request = DeleteMembershipRequest { group_id, user_id };
    client.send(request).await?;
    Ok(message("Membership removed."))
}

/// List the groups of the current user
///
/// With an API key that names groups, these are the groups of the key that the user is in. Any user may call this
/// endpoint.
#[utoipa::path(
    get,
    path = "/profile/groups",
    responses((status = 200, body = UserGroupsResponse))
)]
pub(crate) async fn list_own_groups(client: ActingClient) -> JsonResult<UserGroupsResponse> {
    list_user_groups_of(&client, CURRENT_USER).await
}

/// List the groups of a user
///
/// Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/users/{user_id}/groups",
    params(UserPath),
    responses((status = 200, body = UserGroupsResponse), UserNotFound)
)]
pub(crate) async fn list_user_groups(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<UserGroupsResponse> {
    list_user_groups_of(&client, Some(user_id)).await
}

async fn list_user_groups_of(
    client: &ActingClient,
    user_id: Option<i64>,
) -> JsonResult<UserGroupsResponse> {
    let response = client.send(ListUserGroupsRequest { user_id }).await?;
    Ok(Json(UserGroupsResponse {
        groups: convert_all(response.groups)?,
    }))
}
