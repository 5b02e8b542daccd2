//! `GET /users`.

use super::user_list_query::UserListQuery;
use crate::{openapi::problem::Detail, role_name::RoleName};
use auth_client::{
    AuthClient, CallContext, User, UserPage,
    axum::{BearerToken, Problem},
};
use axum::{Extension, Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of users by ascending id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserPage)]
pub(crate) struct Page {
    users: Vec<Entry>,
    /// The `after` of the next page, null on the last.
    #[schema(required, example = 2)]
    next: Option<i64>,
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
struct Entry {
    #[schema(minimum = 1, example = 2)]
    id: i64,
    #[schema(example = "ada")]
    username: String,
    role: RoleName,
}

/// List users by ascending id
#[utoipa::path(
    get,
    path = "/users",
    tag = "Users",
    params(UserListQuery),
    responses(
        (status = 200, body = Page),
        (
            status = 400,
            description = "A parameter is out of bounds or given more than once.",
            body = Detail,
            example = json!({
                "detail": "Query parameter \"limit\" must be a whole number from 1 to 200."
            })
        )
    )
)]
pub(crate) async fn list_users(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    UserListQuery(query): UserListQuery,
) -> Result<Json<Page>, Problem> {
    // The route table lets admins pass; auth-service checks the actor once more.
    let page = auth.list_users(&actor, query, context).await?;
    Ok(Json(page.into()))
}

impl From<UserPage> for Page {
    fn from(page: UserPage) -> Self {
        Self { users: page.users.into_iter().map(Entry::from).collect(), next: page.next }
    }
}

impl From<User> for Entry {
    fn from(user: User) -> Self {
        Self { id: user.id, username: user.username, role: user.role.into() }
    }
}
