//! `GET /profile`.

use auth_client::axum::CurrentUser;
use axum::Json;
use serde::Serialize;

/// A greeting and the role stored now.
#[derive(Debug, Serialize)]
pub(crate) struct Profile {
    message: String,
    role: &'static str,
}

/// Any user with a good token.
pub(crate) async fn profile(CurrentUser(user): CurrentUser) -> Json<Profile> {
    Json(Profile { message: format!("Welcome {}!", user.username), role: user.role.as_str() })
}
