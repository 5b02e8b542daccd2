//! `GET /admin`.

use super::message::{Message, message};
use axum::Json;

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
