//! `GET /public` of both variants.

use super::message::{Message, message};
use axum::Json;

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
