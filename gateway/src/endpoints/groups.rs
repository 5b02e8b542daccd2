//! Creates, lists and deletes groups for admins.

pub(crate) mod memberships;

use super::{Created, JsonResult, Message, convert_all, created, message};
use crate::{
    extract::{json_body::JsonBody, path_ids::PathIds, query_params::QueryParams},
    openapi::{
        parameters::{id_parameter, limit_parameter},
        responses::{ErrorBody, error_response},
    },
};
use axum::Json;
use rolegate_auth_client::{ActingClient, CallError, axum::ApiError};
use rolegate_proto::auth_v1::{
    CreateGroupRequest, DeleteGroupRequest, GetGroupRequest, Group, ListGroupsRequest,
};
use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, ToSchema,
    openapi::path::{Parameter, ParameterIn},
};

/// The id of a group in a path.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct GroupPath {
    /// The id of the group, an integer.
    #[param(example = 1)]
    group_id: i64,
}

error_response! {
    /// The error for a [`GroupPath`] if there is no such group.
    GroupNotFound = 404, "No group has this id.", ["Group not found."]
}

/// The name of a group, which is none of the roles.
#[derive(ToSchema)]
#[schema(as = GroupName, pattern = "^[a-z][a-z0-9_-]{0,31}$", examples("staff"))]
#[expect(dead_code, reason = "stands in schemas for a string")]
pub(crate) struct GroupName(String);

/// The group to create.
#[derive(Deserialize, ToSchema)]
pub(crate) struct GroupCreationRequest {
    #[schema(value_type = GroupName)]
    name: String,
}

/// A new group.
#[derive(Serialize, ToSchema)]
#[schema(as = NewGroup)]
pub(crate) struct NewGroupResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    #[schema(value_type = GroupName)]
    name: String,
}

/// A group.
#[derive(Serialize, ToSchema)]
#[schema(as = Group)]
pub(crate) struct GroupResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    #[schema(value_type = GroupName)]
    name: String,
    /// The number of users who are in the group.
    #[schema(minimum = 0, example = 3)]
    members: i64,
}

impl TryFrom<Group> for GroupResponse {
    type Error = CallError;

    fn try_from(group: Group) -> Result<Self, CallError> {
        Ok(Self {
            id: group.id,
            name: group.name,
            members: group.members,
        })
    }
}

/// A page of groups, in ascending order of their ids.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupPage)]
pub(crate) struct GroupsResponse {
    groups: Vec<GroupResponse>,
    /// The value of `after` for the next page. Null on the last page.
    #[schema(required, example = 2)]
    next: Option<i64>,
}

/// The query parameters of a list of groups or members.
struct PageParams;

impl IntoParams for PageParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            limit_parameter("The maximum number of entries on the page."),
            id_parameter(
                "after",
                "Return only entries with a greater id. Pass the `next` of the previous page.",
            ),
        ]
    }
}

/// The names of the query parameters in [`PageParams`].
const PAGE_PARAMS: [&str; 2] = ["limit", "after"];

/// Create a group
///
/// A group has no members at first. Only admins may call this endpoint.
#[utoipa::path(
    post,
    path = "/groups",
    request_body = GroupCreationRequest,
    responses(
        (status = 201, description = "The new group.",
            body = NewGroupResponse,
            headers(("Location" = String, description = "The path of the group."))),
        (status = 400, description = "The name breaks a rule or is taken, or the request body is malformed.",
            body = ErrorBody, example = "Group already exists.")
    )
)]
pub(crate) async fn create_group(
    client: ActingClient,
    JsonBody(GroupCreationRequest { name }): JsonBody<GroupCreationRequest>,
) -> Result<Created<NewGroupResponse>, ApiError> {
    let response = client.send(CreateGroupRequest { name }).await?;
    let Group { id, name, .. } = response.group.ok_or(CallError::Malformed)?;
    Ok(created(
        format!("/groups/{id}"),
        NewGroupResponse { id, name },
    ))
}

/// List groups
///
/// Returns groups in ascending order of their ids. Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/groups",
    params(PageParams),
    responses((status = 200, body = GroupsResponse))
)]
pub(crate) async fn list_groups(
    client: ActingClient,
    params: QueryParams,
) -> JsonResult<GroupsResponse> {
    params.expect_only(&PAGE_PARAMS)?;
    let request = ListGroupsRequest {
        page_size: params.page_size()?,
        after: params.after()?,
    };
    let response = client.send(request).await?;
    Ok(Json(GroupsResponse {
        groups: convert_all(response.groups)?,
        next: response.next_after,
    }))
}

/// Get a group
///
/// Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/groups/{group_id}",
    params(GroupPath),
    responses((status = 200, body = GroupResponse), GroupNotFound)
)]
pub(crate) async fn get_group(
    client: ActingClient,
    PathIds(GroupPath { group_id }): PathIds<GroupPath>,
) -> JsonResult<GroupResponse> {
    let response = client.send(GetGroupRequest { group_id }).await?;
    let group = response.group.ok_or(CallError::Malformed)?;
    Ok(Json(group.try_into()?))
}

/// Delete a group
///
/// Ends all memberships of the group. A group that API keys name cannot be deleted. Only admins may call this endpoint.
#[utoipa::path(
    delete,
    path = "/groups/{group_id}",
    params(GroupPath),
    responses(
        (status = 200, body = Message, example = "Group deleted."),
        (status = 400, description = "API keys name the group, or the id is not an integer.",
            body = ErrorBody, example = "Group is named by API keys: ci (ada)."),
        GroupNotFound
    )
)]
pub(crate) async fn delete_group(
    client: ActingClient,
    PathIds(GroupPath { group_id }): PathIds<GroupPath>,
) -> JsonResult<Message> {
    client.send(DeleteGroupRequest { group_id }).await?;
    Ok(message("Group deleted."))
}
