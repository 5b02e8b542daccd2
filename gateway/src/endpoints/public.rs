//! `GET /public` of both variants.

use super::message::{Message, message};
use axum::Json;

/// Say hello to anybody
///
/// Looks at no credentials, not even bad ones.
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
