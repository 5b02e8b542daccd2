//! The success body that most endpoints share.

use axum::Json;
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

/// The result of the request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Message {
    message: Cow<'static, str>,
}

/// `{"message": text}`.
pub(crate) fn message(text: impl Into<Cow<'static, str>>) -> Json<Message> {
    Json(Message { message: text.into() })
}
