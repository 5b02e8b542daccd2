//! `GET /admin`.

use crate::message::{Message, message};
use axum::Json;

/// The route table lets admins pass.
pub(crate) async fn admin() -> Json<Message> {
    message("Welcome Admin!")
}
