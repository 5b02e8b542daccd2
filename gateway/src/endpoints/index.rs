//! `GET /` of both variants.

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
pub(crate) async fn bearer() -> Json<Message> {
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
pub(crate) async fn basic() -> Json<Message> {
    message("Authentication API")
}
