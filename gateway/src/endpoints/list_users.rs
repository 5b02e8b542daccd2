//! `GET /users`.

use super::user_list_query::UserListQuery;
use auth_client::{
    AuthClient, CallContext, User, UserPage,
    axum::{BearerToken, Problem},
};
use axum::{Extension, Json, extract::State};
use serde::Serialize;

/// A page of users by ascending id; `next` is the `after` of the next page, null on the last.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    users: Vec<Entry>,
    next: Option<i64>,
}

/// A user in a page.
#[derive(Debug, Serialize)]
struct Entry {
    id: i64,
    username: String,
    role: &'static str,
}

/// `?limit=&after=&username=&role=`. The route table lets admins pass; auth-service checks the
/// actor once more.
pub(crate) async fn list_users(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    UserListQuery(query): UserListQuery,
) -> Result<Json<Page>, Problem> {
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
        Self { id: user.id, username: user.username, role: user.role.as_str() }
    }
}
