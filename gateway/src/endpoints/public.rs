//! `GET /public` of both variants.

use crate::message::{Message, message};
use axum::Json;

/// Looks at no credentials, not even bad ones.
pub(crate) async fn public() -> Json<Message> {
    message("This is a public endpoint.")
}
