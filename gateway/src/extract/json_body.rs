//! Reads request bodies that are JSON objects of limited size.
//!
//! [`JsonBody`] and [`PathIdsAndBody`] are the extractors. Both read the bytes with [`read_body`], which checks size,
//! time and content coding, and then decode the fields with `object`, whose errors name the field.

mod object;

use super::{
    body_headers::{expect_media_type, expect_no_coding},
    path_ids::PathIds,
};
use crate::memory::{BodyMemory, MAX_UNRESERVED};
use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Request},
};
use http::{HeaderMap, request::Parts};
use http_body::Body as _;
use http_body_util::BodyExt;
use object::{BodyError, ObjectDeserializer};
use prost_types::Timestamp;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::{http::HttpReason, time::parse_rfc3339};
use serde::de::DeserializeOwned;
use std::{borrow::Cow, time::Duration};
use tokio::time::timeout;

/// The maximum length of a body, in bytes, unless an endpoint has a limit of its own.
pub(crate) const MAX_BODY: usize = 64 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A struct of strings, lists of strings and booleans, read from a JSON object of at most `MAX` bytes. Unknown fields are ignored, unless
/// the struct denies them.
///
/// A request with several mistakes gets the first error in this order: 413, 503 (too many bodies are being read), 408,
/// 415, 400. An error never repeats a value of the body, which may be a password. It can repeat the name of an unknown
/// field.
pub(crate) struct JsonBody<T, const MAX: usize = MAX_BODY>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned, const MAX: usize> FromRequest<S> for JsonBody<T, MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        read_json(&head, body, MAX).await?.map(Self)
    }
}

/// The ids in the path, like [`PathIds`], and a JSON object, like [`JsonBody`]. One extractor reads both, because the
/// ids are checked after the syntax of the body and before its fields.
pub(crate) struct PathIdsAndBody<I, T, const MAX: usize = MAX_BODY>(pub(crate) I, pub(crate) T);

impl<S, I, T, const MAX: usize> FromRequest<S> for PathIdsAndBody<I, T, MAX>
where
    S: Send + Sync,
    I: DeserializeOwned,
    T: DeserializeOwned + Send,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (mut head, body) = request.into_parts();
        let fields = read_json(&head, body, MAX).await?;
        let PathIds(ids) = PathIds::from_request_parts(&mut head, state).await?;
        Ok(Self(ids, fields?))
    }
}

/// Reads a body that must be a JSON object, and decodes its fields.
///
/// The outer error means that the body could not be read or is not a JSON object. The inner error means that a field is
/// missing, repeated, unknown or of another type. The two are separate so that the caller can check the ids in the path
/// after the first error and before the second.
async fn read_json<T: DeserializeOwned>(
    head: &Parts,
    body: Body,
    max: usize,
) -> Result<Result<T, ApiError>, ApiError> {
    let bytes = read_body(head, body, max).await?;
    expect_json(&head.headers)?;
    // The encoding of the whole body is checked here, because serde_json does not check it in values that it ignores.
    let text =
        str::from_utf8(&bytes).map_err(|_| invalid_body("Request body is not valid UTF-8."))?;
    match T::deserialize(ObjectDeserializer { text }) {
        Ok(value) => Ok(Ok(value)),
        Err(BodyError::Field(error)) => Ok(Err(error)),
        Err(BodyError::Malformed(detail)) => Err(invalid_body(detail)),
    }
}

/// Reads a body of at most `max` bytes without a content coding. Every endpoint that takes a body reads it here. A
/// request with several mistakes gets the first error in this order: 413, 503, 408, 415.
pub(crate) async fn read_body(head: &Parts, body: Body, max: usize) -> Result<Vec<u8>, ApiError> {
    let bytes = receive(body, max, head.extensions.get()).await?;
    expect_no_coding(&head.headers)?;
    Ok(bytes)
}

async fn receive(
    mut body: Body,
    max: usize,
    memory: Option<&BodyMemory>,
) -> Result<Vec<u8>, ApiError> {
    let size = body.size_hint();
    // `Content-Length` is checked before the first read, and so before a 100 (Continue) is sent.
    if size.lower() > max as u64 {
        return Err(too_large());
    }
    let size = size.exact().and_then(|size| usize::try_from(size).ok());
    let read = async {
        let mut unreserved = MAX_UNRESERVED;
        if let Some(size) = size
            && size > unreserved
        {
            reserve(memory, size).await?;
            unreserved = max;
        }
        // The chunks are copied into one buffer, because many small chunks would take far more memory than their bytes.
        let mut bytes = Vec::with_capacity(size.unwrap_or_default());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_broken| invalid_body("Request body could not be read."))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > max {
                return Err(too_large());
            }
            if bytes.len() + data.len() > unreserved {
                reserve(memory, max).await?;
                unreserved = max;
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    };
    match timeout(BODY_TIMEOUT, read).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(ApiError::http(
            HttpReason::BodyTimedOut,
            "Request body did not arrive in time.",
        )),
    }
}

async fn reserve(memory: Option<&BodyMemory>, bytes: usize) -> Result<(), ApiError> {
    match memory {
        Some(memory) => memory.reserve(bytes).await,
        None => Ok(()),
    }
}

fn too_large() -> ApiError {
    ApiError::http(HttpReason::BodyTooLarge, "Request body too large.")
}

pub(crate) fn invalid_body(detail: &'static str) -> ApiError {
    ApiError::http(HttpReason::BodyInvalid, detail)
}

pub(crate) fn invalid_field(detail: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::http(HttpReason::FieldInvalid, detail)
}

/// Parses the time in the field with this name.
pub(crate) fn parse_time_field(name: &str, text: &str) -> Result<Timestamp, ApiError> {
    let time = parse_rfc3339(text).ok_or_else(|| {
        invalid_field(format!(
            "Field {name:?} must be a time in RFC 3339, such as 2030-01-31T00:00:00Z."
        ))
    })?;
    Ok(time.into())
}

/// Rejects the request with 415, unless its body is `application/json` or `application/*+json` (RFC 6839) in UTF-8.
fn expect_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let wrong = "Content-Type must be application/json.";
    expect_media_type(headers, wrong, |essence| {
        let subtype = essence.strip_prefix("application/").unwrap_or_default();
        let prefix = subtype.strip_suffix("+json");
        subtype == "json" || prefix.is_some_and(|prefix| !prefix.is_empty())
    })
}

#[cfg(test)]
mod tests;
