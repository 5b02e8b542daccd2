//! `GET /users?limit=&after=&username=&role=`, each parameter at most once.

use super::{role_name::RoleName, user_response::UserResponse};
use crate::extract::pagination::{QueryParams, id_parameter, limit_parameter, parameter};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext, CallError, Reason, UserPage, UserQuery,
    axum::{ApiError, BearerToken},
};
use serde::Serialize;
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        Ref, Type,
        path::{Parameter, ParameterIn},
        schema::ObjectBuilder,
    },
};

/// A page of users by ascending id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserPage)]
pub(crate) struct Page {
    users: Vec<UserResponse>,
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
            .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$"));
        let role = Ref::from_schema_name(RoleName::name());
        vec![
            limit_parameter("Maximum number of users."),
            id_parameter("after", "Only users with a greater id."),
            parameter(
                "username",
                "Only users whose username starts with this; no wildcards.",
                prefix.into(),
            ),
            parameter("role", "Only users with this role.", role.into()),
        ]
    }
}

/// List users
///
/// Users come in ascending order of their ids.
#[utoipa::path(
    get,
    path = "/users",
    tag = "Users",
    params(Filters),
    responses((status = 200, body = Page))
)]
pub(crate) async fn list_users(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    params: QueryParams,
) -> Result<Json<Page>, ApiError> {
    let UserPage { users, next } = auth.list_users(&actor, query(&params)?, context).await?;
    Ok(Json(Page { users: users.into_iter().map(Into::into).collect(), next }))
}

fn query(params: &QueryParams) -> Result<UserQuery, ApiError> {
    let role = |name: &str| {
        name.parse().map_err(|_| ApiError::from(CallError::local(Reason::RoleInvalid)))
    };
    params.expect_only(&["limit", "after", "username", "role"])?;
    Ok(UserQuery {
        limit: params.limit()?,
        after: params.id("after")?,
        username_prefix: params.get("username")?.unwrap_or_default().to_owned(),
        role: params.get("role")?.map(role).transpose()?,
    })
}

#[cfg(test)]
mod tests;
