//! `GET /profile`.

use super::role_name::RoleName;
use axum::Json;
use rolegate_auth_client::axum::CurrentUser;
use serde::Serialize;
use utoipa::ToSchema;

/// The current user's welcome message and stored role.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Profile {
    #[schema(example = "Welcome ada!")]
    message: String,
    #[schema(value_type = RoleName)]
    role: &'static str,
}

/// Get the current user's profile
#[utoipa::path(
    get,
    path = "/profile",
    tag = "Accounts",
    security(("bearer" = [])),
    responses((status = 200, body = Profile))
)]
pub(crate) async fn profile(CurrentUser(user): CurrentUser) -> Json<Profile> {
    Json(Profile { message: format!("Welcome {}!", user.username), role: user.role.as_str() })
}
