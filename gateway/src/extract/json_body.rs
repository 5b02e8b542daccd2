//! Request bodies: a JSON object of limited size.

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rolegate_auth_client::axum::ApiError;
use secrecy::SecretString;
use std::{collections::HashMap, error::Error, time::Duration};
use tokio::time::timeout;

mod object;

use object::{Field, Object};

/// Largest body of most endpoints, in bytes.
const DEFAULT_MAX_BODY: usize = 64 * 1024;
/// Largest body where posts are written, in bytes: the longest content, however it is escaped.
pub(crate) const MAX_POST_BODY: usize = 1024 * 1024;
/// Longest time that a body may take to arrive.
const DEADLINE: Duration = Duration::from_secs(30);

/// The body of a request, a JSON object of at most `MAX_BODY` bytes. Rejects, in this order, with 413, 408,
/// 415 and 400; no text of a rejection repeats anything of the body, which may hold a password.
pub(crate) struct JsonBody<const MAX_BODY: usize = DEFAULT_MAX_BODY>(HashMap<String, Field>);

impl<const MAX_BODY: usize> JsonBody<MAX_BODY> {
    /// Takes the string `field` out of the body.
    pub(crate) fn text(&mut self, field: &'static str) -> Result<String, ApiError> {
        match self.0.remove(field) {
            Some(Field::Json(json)) if json.starts_with('"') => {
                // Fails where an escape is half a character: grammatical, but no text.
                serde_json::from_str(&json).map_err(|_| not_json())
            }
            Some(Field::Repeated) => {
                Err(ApiError::bad_request(format!("Field \"{field}\" is given more than once.")))
            }
            Some(Field::Json(_)) | None => Err(ApiError::bad_request(format!(
                "Field \"{field}\" is required and must be a string."
            ))),
        }
    }

    /// Takes the string `field`, a secret, out of the body.
    pub(crate) fn secret(&mut self, field: &'static str) -> Result<SecretString, ApiError> {
        self.text(field).map(SecretString::from)
    }
}

impl<S: Sync, const MAX_BODY: usize> FromRequest<S> for JsonBody<MAX_BODY> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let bytes = read(body, MAX_BODY).await?;
        if !is_json(&head.headers) {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Content-Type must be application/json.",
            ));
        }
        parse(&bytes).map(Self)
    }
}

async fn read(body: Body, most: usize) -> Result<Vec<u8>, ApiError> {
    let too_large = || ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "Request body too large.");
    // `Content-Length` tells it before a byte was read, and before a 100 (Continue) was sent.
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let mut body = Limited::new(body, most);
    let whole = async {
        // Copied: to keep a handle for each chunk would take many times the bytes of small ones.
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                bytes.extend_from_slice(&data);
            }
        }
        Ok::<_, axum::BoxError>(bytes)
    };
    match timeout(DEADLINE, whole).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_over_limit(&*error) => Err(too_large()),
        Ok(Err(_broken)) => Err(ApiError::bad_request("Request body could not be read.")),
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

fn parse(bytes: &[u8]) -> Result<HashMap<String, Field>, ApiError> {
    // serde_json does not look at the encoding of what it skips.
    let text = str::from_utf8(bytes)
        .map_err(|_| ApiError::bad_request("Request body is not valid UTF-8."))?;
    match serde_json::from_str::<Object>(text) {
        Ok(Object(fields)) => Ok(fields),
        Err(error) if error.is_data() => {
            Err(ApiError::bad_request("Request body must be a JSON object."))
        }
        Err(_) => Err(not_json()),
    }
}

fn not_json() -> ApiError {
    ApiError::bad_request("Request body is not valid JSON.")
}

#[cfg(test)]
mod tests;
