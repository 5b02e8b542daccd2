//! `GET /users`.

use super::{user_list_query::UserListQuery, user_response::UserResponse};
use crate::openapi::responses::InvalidQuery;
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext, UserPage,
    axum::{ApiError, BearerToken},
};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of users by ascending id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserPage)]
pub(crate) struct Page {
    users: Vec<UserResponse>,
    /// The `after` of the next page, null on the last page.
    #[schema(required, example = 2)]
    next: Option<i64>,
}

/// List users
///
/// Users come in ascending order of their ids.
#[utoipa::path(
    get,
    path = "/users",
    tag = "Users",
    params(UserListQuery),
    responses((status = 200, body = Page), InvalidQuery)
)]
pub(crate) async fn list_users(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    UserListQuery(query): UserListQuery,
) -> Result<Json<Page>, ApiError> {
    Ok(Json(auth.list_users(&actor, query, context).await?.into()))
}

impl From<UserPage> for Page {
    fn from(page: UserPage) -> Self {
        Self { users: page.users.into_iter().map(Into::into).collect(), next: page.next }
    }
}
