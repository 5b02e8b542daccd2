//! The query parameters of `GET /users`: their schemas, and how a query becomes a request.

use crate::{
    endpoints::{groups::GroupName, users::RoleName},
    extract::query_params::{QueryParams, invalid_query},
    openapi::parameters::{limit_parameter, query_parameter, time_parameter, username_parameter},
};
use rolegate_auth_client::{CallError, Reason, Role, axum::ApiError};
use rolegate_proto::auth_v1::{ListUsersRequest, UserOrder};
use utoipa::{
    IntoParams, ToSchema as _,
    openapi::{
        ObjectBuilder, Ref, Type,
        path::{Parameter, ParameterIn},
    },
};

/// The query parameters of `GET /users`.
pub(super) struct UserFilters;

impl IntoParams for UserFilters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut parameters = page_parameters();
        parameters.extend(name_filters());
        parameters.extend(state_filters());
        parameters
    }
}

fn boolean_schema() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean)
}

/// Returns the parameters that decide what a page contains about which part of the list.
fn page_parameters() -> Vec<Parameter> {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let included = text().pattern(Some(
        "^(times|groups|sign_in)(,(times|groups|sign_in)){0,2}$",
    ));
    vec![
        limit_parameter("The maximum number of users on the page."),
        query_parameter(
            "after",
            "Return only users after this position. Pass the `next` of the previous page, with the \
             same `sort` and filters.",
            text(),
        ),
        query_parameter(
            "sort",
            "Sort the users by this property, which is `id` by default; `-` reverses the order. \
             Names are sorted without regard to case and accents. Users who never signed in come \
             before all others, and users whose account has no end come after them.",
            text().enum_values(Some(SORTS)),
        ),
        query_parameter(
            "total",
            "Add `total`, the number of users on all pages.",
            boolean_schema(),
        ),
        query_parameter(
            "include",
            "Add properties to each user, separated by commas: `times` adds `created_at` and \
             `last_sign_in_at`, `groups` adds `groups` and `until`, and `sign_in` adds \
             `second_factor` and `has_password`.",
            included,
        ),
    ]
}

/// Returns the filters by names.
fn name_filters() -> [Parameter; 4] {
    [
        username_parameter(
            "username",
            "Return only users whose username starts with this text. There are no wildcards.",
        ),
        username_parameter(
            "search",
            "Return only users whose username contains each of these words, in any order, without \
             regard to case and accents. There are no wildcards. A search reads the names of all \
             users, so each admin may run one at a time, and another one gets 503.",
        ),
        query_parameter(
            "role",
            "Return only users with this role.",
            Ref::from_schema_name(RoleName::name()),
        ),
        query_parameter(
            "group",
            "Return only users who are in this group.",
            Ref::from_schema_name(GroupName::name()),
        ),
    ]
}

/// Returns the filters by what users can do, and by times.
fn state_filters() -> [Parameter; 5] {
    [
        query_parameter(
            "disabled",
            "Return only users who are disabled, or only users who are not.",
            boolean_schema(),
        ),
        query_parameter(
            "second_factor",
            "Return only users whose second factor is on, or only users whose second factor is off.",
            boolean_schema(),
        ),
        query_parameter(
            "has_password",
            "Return only users who have a password, or only users who have yet to choose one by a \
             link.",
            boolean_schema(),
        ),
        time_parameter(
            "not_since",
            "Return only users who have not signed in with a password since this time, or never have.",
        ),
        time_parameter(
            "ends_before",
            "Return only users whose account ends, or has ended, before this time.",
        ),
    ]
}

/// The properties that are added to each user.
#[derive(Default)]
pub(super) struct Included {
    times: bool,
    pub(super) groups: bool,
    sign_in: bool,
}

impl Included {
    pub(super) fn read(params: &QueryParams) -> Result<Self, ApiError> {
        let Some(names) = params.get("include")? else {
            return Ok(Self::default());
        };
        let mut included = Self::default();
        for name in names.split(',') {
            match name {
                "times" if !included.times => included.times = true,
                "groups" if !included.groups => included.groups = true,
                "sign_in" if !included.sign_in => included.sign_in = true,
                _ => {
                    let rule = "Query parameter \"include\" must be times, groups or sign_in.";
                    return Err(invalid_query(rule));
                }
            }
        }
        Ok(included)
    }
}

/// The values of `sort`. A `-` before a name reverses the order.
const SORTS: [&str; 8] = [
    "id",
    "-id",
    "username",
    "-username",
    "last_sign_in_at",
    "-last_sign_in_at",
    "until",
    "-until",
];

/// The order of the users.
struct Sort {
    order: UserOrder,
    descending: bool,
}

impl Sort {
    fn read(params: &QueryParams) -> Result<Self, ApiError> {
        let name = params.one_of("sort", SORTS)?.unwrap_or_default();
        let descending = name.starts_with('-');
        let order = match name.trim_start_matches('-') {
            "username" => UserOrder::Username,
            "last_sign_in_at" => UserOrder::LastLogin,
            "until" => UserOrder::Until,
            _ => UserOrder::Unspecified,
        };
        Ok(Self { order, descending })
    }
}

fn boolean(params: &QueryParams, name: &str) -> Result<Option<bool>, ApiError> {
    let value = params.one_of(name, ["true", "false"])?;
    Ok(value.map(|value| value == "true"))
}

/// Returns the name of the group; an empty text if there is none. An empty value is refused, because in the contract it
/// selects all users.
fn group(params: &QueryParams) -> Result<String, ApiError> {
    match params.get("group")? {
        Some("") => Err(invalid_query(
            "Query parameter \"group\" must be the name of a group.",
        )),
        name => Ok(name.unwrap_or_default().to_owned()),
    }
}

pub(super) fn query(params: &QueryParams) -> Result<ListUsersRequest, ApiError> {
    params.expect_only(&[
        "limit",
        "after",
        "sort",
        "total",
        "username",
        "role",
        "search",
        "disabled",
        "second_factor",
        "has_password",
        "group",
        "not_since",
        "ends_before",
        "include",
    ])?;
    let page_size = params.page_size()?;
    let sort = Sort::read(params)?;
    let (after, cursor) = match sort.order {
        UserOrder::Unspecified => (params.after()?, None),
        _ => (0, params.get("after")?),
    };
    let username_prefix = params.get("username")?.unwrap_or_default().to_owned();
    let role: Option<Role> = params
        .get("role")?
        .map(str::parse)
        .transpose()
        .map_err(|_| CallError::local(Reason::RoleInvalid))?;
    let included = Included::read(params)?;
    Ok(ListUsersRequest {
        page_size,
        after,
        username_prefix,
        // The number is for an auth-service of the previous release.
        role: role.map(Role::request_number),
        role_name: role.map(|role| role.to_string()),
        disabled: boolean(params, "disabled")?,
        search: params.get("search")?.unwrap_or_default().to_owned(),
        with_times: included.times,
        order: sort.order.into(),
        descending: sort.descending,
        cursor: cursor.unwrap_or_default().to_owned(),
        with_total: boolean(params, "total")? == Some(true),
        second_factor: boolean(params, "second_factor")?,
        has_password: boolean(params, "has_password")?,
        group_name: group(params)?,
        not_since: params.time("not_since")?,
        ends_before: params.time("ends_before")?,
        with_sign_ins: included.sign_in,
    })
}

#[cfg(test)]
mod tests;
