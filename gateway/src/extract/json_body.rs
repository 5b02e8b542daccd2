//! Request bodies: JSON objects of limited size.

mod object;

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use object::{BodyError, ObjectDeserializer};
use rolegate_auth_client::axum::ApiError;
use serde::de::DeserializeOwned;
use std::{error::Error, time::Duration};
use tokio::time::timeout;

/// Bytes of a body, unless an endpoint says otherwise.
const MAX_BODY: usize = 64 * 1024;
/// Bytes of a body that holds a post: the longest content, however it is escaped.
pub(crate) const MAX_POST_BODY: usize = 1024 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A struct of strings, read from a JSON object of at most `MAX` bytes. Unknown fields are ignored.
///
/// Rejects, in this order, with 413, 408, 415 and 400. A field that is missing, repeated or not a
/// string is not a rejection but the inner error, because handlers check the path before it. No
/// error repeats anything of the body, which may hold a password.
pub(crate) struct JsonBody<T, const MAX: usize = MAX_BODY>(pub(crate) Result<T, ApiError>);

impl<S: Sync, T: DeserializeOwned, const MAX: usize> FromRequest<S> for JsonBody<T, MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let bytes = read(body, MAX).await?;
        if !is_json(&head.headers) {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Content-Type must be application/json.",
            ));
        }
        // serde_json does not check the encoding of ignored values.
        let text = str::from_utf8(&bytes)
            .map_err(|_| ApiError::bad_request("Request body is not valid UTF-8."))?;
        match T::deserialize(ObjectDeserializer(text)) {
            Ok(value) => Ok(Self(Ok(value))),
            Err(BodyError::Field(detail)) => Ok(Self(Err(ApiError::bad_request(detail)))),
            Err(BodyError::Malformed(detail)) => Err(ApiError::bad_request(detail)),
        }
    }
}

async fn read(body: Body, max: usize) -> Result<Vec<u8>, ApiError> {
    let too_large = || ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "Request body too large.");
    // `Content-Length` is checked before the first read, and so before a 100 (Continue) is sent.
    if body.size_hint().lower() > max as u64 {
        return Err(too_large());
    }
    let mut body = Limited::new(body, max);
    let read = async {
        // Copied: keeping many small chunks would take many times their bytes.
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                bytes.extend_from_slice(&data);
            }
        }
        Ok::<_, axum::BoxError>(bytes)
    };
    match timeout(BODY_TIMEOUT, read).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_over_limit(&*error) => Err(too_large()),
        Ok(Err(_)) => Err(ApiError::bad_request("Request body could not be read.")),
        Err(_elapsed) => {
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "Request body did not arrive in time."))
        }
    }
}

fn is_over_limit(error: &(dyn Error + 'static)) -> bool {
    error.is::<LengthLimitError>() || error.source().is_some_and(is_over_limit)
}

/// `application/json` or `application/*+json` (RFC 6839), with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some(subtype) = essence.strip_prefix("application/") else { return false };
    subtype == "json" || subtype.ends_with("+json")
}

#[cfg(test)]
mod tests;
