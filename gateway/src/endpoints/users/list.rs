//! Serves `GET /users`, which lists the users that match filters. `parameters` reads the query.

mod parameters;

use super::UserResponse;
use crate::{
    endpoints::{JsonResult, groups::GroupName, optional_rfc3339},
    extract::query_params::{QueryParams, invalid_query},
};
use axum::Json;
use parameters::{Included, UserFilters, query};
use prost_types::Timestamp;
use rolegate_auth_client::{ActingClient, CallError, Reason};
use rolegate_proto::auth_v1::{ListUsersResponse, User, UserSignIn, UserTimes};
use serde::Serialize;
use std::mem;
use utoipa::ToSchema;

/// A user in a list. The times are present with `include=times`, groups and end with `include=groups`, and how the user
/// can sign in with `include=sign_in`.
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
    /// True if a sign-in needs a second factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    second_factor: Option<bool>,
    /// False if the user has yet to choose a password by a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    has_password: Option<bool>,
}

impl ListedUserResponse {
    fn new(
        mut user: User,
        times: Option<UserTimes>,
        sign_in: Option<UserSignIn>,
        with_groups: bool,
    ) -> Result<Self, CallError> {
        let groups = with_groups.then(|| mem::take(&mut user.group_names));
        let until = user.until.map(|seconds| Timestamp { seconds, nanos: 0 });
        let until = with_groups.then(|| optional_rfc3339(until)).transpose()?;
        Ok(Self {
            groups,
            until,
            second_factor: sign_in.map(|sign_in| sign_in.second_factor),
            has_password: sign_in.map(|sign_in| sign_in.has_password),
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

/// A page of users.
#[derive(Serialize, ToSchema)]
#[schema(as = UserPage)]
pub(crate) struct UsersResponse {
    users: Vec<ListedUserResponse>,
    /// The value of `after` for the next page: a number if the users are sorted by id, and otherwise a string. Null on
    /// the last page.
    #[schema(required, example = 2)]
    next: Option<NextUsers>,
    /// The number of users on all pages. Present with `total=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1234)]
    total: Option<i64>,
}

/// Where the next page of users begins.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum NextUsers {
    Id(i64),
    Cursor(String),
}

impl NextUsers {
    fn of_page(page: &ListUsersResponse) -> Option<Self> {
        if !page.next_cursor.is_empty() {
            return Some(Self::Cursor(page.next_cursor.clone()));
        }
        page.next_after.map(Self::Id)
    }
}

/// List users
///
/// Returns users in pages, in ascending order of their ids unless `sort` names another order. Only admins may call this
/// endpoint.
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
    let has_cursor = !request.cursor.is_empty();
    let with_groups = Included::read(&params)?.groups;
    let page = client.list_users(request).await.map_err(|error| {
        // The other fields are valid, so it is the cursor that auth-service refuses.
        if has_cursor && error.reason() == Some(Reason::RequestInvalid) {
            return invalid_query(
                "Query parameter \"after\" must be the \"next\" of the previous page.",
            );
        }
        error.into()
    })?;
    // An auth-service of the previous release sends no groups. The properties are then left out, because an empty list
    // would say that nobody is in a group.
    let with_groups = with_groups && page.has_groups;
    let next = NextUsers::of_page(&page);
    // A page has the times of every user, or of none. The same is true of how they sign in.
    let mut times = page.times.into_iter();
    let mut sign_ins = page.sign_ins.into_iter();
    let users = page.users.into_iter();
    Ok(Json(UsersResponse {
        users: users
            .map(|user| ListedUserResponse::new(user, times.next(), sign_ins.next(), with_groups))
            .collect::<Result<_, _>>()?,
        next,
        total: page.total,
    }))
}
