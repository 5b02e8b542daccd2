//! The endpoints by topic: each file has their request and response bodies, errors and handlers. The annotation
//! of a handler has its method, full path, parameters and responses.
//!
//! The route tables guard routes by role before the body is read; auth-service and posts-service
//! check the actor again.

pub(crate) mod access;
pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod password_links;
pub(crate) mod passwords;
pub(crate) mod posts;
pub(crate) mod second_factor;
pub(crate) mod sessions;
pub(crate) mod users;

use axum::Json;
use humantime::format_rfc3339_millis;
use rolegate_auth_client::axum::ApiError;
use serde::Serialize;
use std::{borrow::Cow, time::SystemTime};
use utoipa::ToSchema;

type JsonResult<T> = Result<Json<T>, ApiError>;

/// The `user_id` in calls about the current user.
const CURRENT_USER: Option<i64> = None;

/// The result of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct Message {
    message: Cow<'static, str>,
}

/// `{"message": text}`.
fn message(text: impl Into<Cow<'static, str>>) -> Json<Message> {
    Json(Message {
        message: text.into(),
    })
}

fn rfc3339(time: SystemTime) -> String {
    format_rfc3339_millis(time).to_string()
}
