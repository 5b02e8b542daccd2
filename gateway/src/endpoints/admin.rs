//! `GET /admin`.

use super::message::{Message, message};
use axum::Json;

/// Say hello to admins
#[utoipa::path(
    get,
    path = "/admin",
    tag = "Access",
    responses((status = 200, body = Message, example = json!({"message": "Welcome Admin!"})))
)]
pub(crate) async fn admin() -> Json<Message> {
    // The route table lets admins pass.
    message("Welcome Admin!")
}
