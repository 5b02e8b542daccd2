//! Handles the requests of the API, with one file per topic.
//!
//! Each file has the request and response bodies, the errors and the handlers of its topic. The annotation of a handler
//! has its method, full path, parameters and responses.
//!
//! A handler takes its arguments from `crate::extract`, calls auth-service or posts-service, and turns the result into
//! a response. It does not decide who may do what: the route tables guard routes by role before the body is read, and
//! the services check the actor again.
//!
//! - `access`: endpoints that show who is admitted
//! - `accounts`, `passwords`, `password_links`, `second_factor`, `sessions`, `api_keys`: accounts and their credentials
//! - `users`, `groups`: administration of users, groups and memberships
//! - `audit`: the audit record
//! - `posts`: the posts of posts-service
//!
//! The doc comments of handlers, bodies and fields are the texts of the OpenAPI document.

pub(crate) mod access;
pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod groups;
pub(crate) mod password_links;
pub(crate) mod passwords;
pub(crate) mod posts;
pub(crate) mod second_factor;
pub(crate) mod sessions;
pub(crate) mod users;

use axum::Json;
use http::{HeaderName, StatusCode, header::LOCATION};
use humantime::format_rfc3339_millis;
use prost_types::Timestamp;
use rolegate_auth_client::{CallError, axum::ApiError};
use rolegate_proto::time;
use serde::Serialize;
use std::{borrow::Cow, time::SystemTime};
use utoipa::ToSchema;

type JsonResult<T> = Result<Json<T>, ApiError>;

/// The `user_id` of calls about the current user.
const CURRENT_USER: Option<i64> = None;

/// A message for people about the result of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct Message {
    message: Cow<'static, str>,
}

/// Returns the body `{"message": text}`.
fn message(text: impl Into<Cow<'static, str>>) -> Json<Message> {
    Json(Message {
        message: text.into(),
    })
}

/// A 201 with the path of the new resource in `Location`.
type Created<T> = (StatusCode, [(HeaderName, String); 1], Json<T>);

fn created<T>(path: String, body: T) -> Created<T> {
    (StatusCode::CREATED, [(LOCATION, path)], Json(body))
}

fn rfc3339(time: SystemTime) -> String {
    format_rfc3339_millis(time).to_string()
}

/// Writes a time that a response of a service must have. It is an error if the time is missing, or if RFC 3339 cannot
/// express it.
fn required_rfc3339(timestamp: Option<Timestamp>) -> Result<String, CallError> {
    time::from_message(timestamp)
        .map(rfc3339)
        .ok_or(CallError::Malformed)
}

/// Writes a time that a response of a service may omit. It is an error if RFC 3339 cannot express the time.
fn optional_rfc3339(timestamp: Option<Timestamp>) -> Result<Option<String>, CallError> {
    match timestamp {
        Some(_) => required_rfc3339(timestamp).map(Some),
        None => Ok(None),
    }
}

/// Converts the items of a response of a service, all of which must be well-formed.
fn convert_all<M, T: TryFrom<M, Error = CallError>>(messages: Vec<M>) -> Result<Vec<T>, CallError> {
    messages.into_iter().map(T::try_from).collect()
}
