//! `GET /` of both variants.

use crate::message::{Message, message};
use axum::Json;

/// The bearer-token variant says which of the two it is.
pub(crate) async fn bearer() -> Json<Message> {
    message("Role-Based Authorization API")
}

/// So does the HTTP Basic variant.
pub(crate) async fn basic() -> Json<Message> {
    message("Authentication API")
}
