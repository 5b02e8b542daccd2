//! The success body that most endpoints share.

use axum::Json;
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

/// What happened, or a greeting.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Message {
    message: Cow<'static, str>,
}

/// `{"message": text}` as `application/json`.
pub(crate) fn message(text: impl Into<Cow<'static, str>>) -> Json<Message> {
    Json(Message { message: text.into() })
}
