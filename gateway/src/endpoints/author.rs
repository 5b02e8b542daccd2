//! `GET /author`.

use crate::message::{Message, message};
use axum::Json;

/// The route table lets authors and admins pass.
pub(crate) async fn author() -> Json<Message> {
    message("Welcome Author!")
}
