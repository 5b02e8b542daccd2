//! The endpoints that return a fixed message: `GET /` of both variants, `GET /public`, `GET /author`
//! and `GET /admin`.

use super::message::{Message, message};
use axum::Json;

/// Get the name of the API
#[utoipa::path(
    get,
    path = "/",
    operation_id = "index",
    tag = "Access",
    responses(
        (status = 200, body = Message, example = json!({"message": "Role-Based Authorization API"}))
    )
)]
pub(crate) async fn bearer_index() -> Json<Message> {
    message("Role-Based Authorization API")
}

/// Get the name of the API
#[utoipa::path(
    get,
    path = "/",
    operation_id = "index",
    tag = "Access",
    responses((status = 200, body = Message, example = json!({"message": "Authentication API"})))
)]
pub(crate) async fn basic_index() -> Json<Message> {
    message("Authentication API")
}

/// Get the public welcome message
///
/// Credentials are ignored, even invalid ones.
#[utoipa::path(
    get,
    path = "/public",
    tag = "Access",
    responses(
        (status = 200, body = Message, example = json!({"message": "This is a public endpoint."}))
    )
)]
pub(crate) async fn public() -> Json<Message> {
    message("This is a public endpoint.")
}

/// Get the welcome message for authors and admins
#[utoipa::path(
    get,
    path = "/author",
    tag = "Access",
    responses((status = 200, body = Message, example = json!({"message": "Welcome Author!"})))
)]
pub(crate) async fn author() -> Json<Message> {
    message("Welcome Author!")
}

/// Get the welcome message for admins
#[utoipa::path(
    get,
    path = "/admin",
    tag = "Access",
    responses((status = 200, body = Message, example = json!({"message": "Welcome Admin!"})))
)]
pub(crate) async fn admin() -> Json<Message> {
    message("Welcome Admin!")
}
