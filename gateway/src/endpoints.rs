//! The endpoints by topic: handlers with their request and response bodies and OpenAPI annotations.
//!
//! The route tables guard routes by role before the body is read; auth-service and posts-service
//! check the actor again.

pub(crate) mod access;
pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod passwords;
pub(crate) mod posts;
mod schemas;
pub(crate) mod users;

use axum::Json;
use rolegate_auth_client::axum::ApiError;
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

type Answer<T> = Result<Json<T>, ApiError>;

/// The result of the request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Message {
    message: Cow<'static, str>,
}

/// `{"message": text}`.
fn message(text: impl Into<Cow<'static, str>>) -> Json<Message> {
    Json(Message { message: text.into() })
}
