//! `GET /author`.

use super::message::{Message, message};
use axum::Json;

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
