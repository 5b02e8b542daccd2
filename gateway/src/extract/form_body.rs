//! Request bodies: HTML forms (`application/x-www-form-urlencoded`).

use super::{
    json_body::{MAX_BODY, content_type, read},
    pagination::QueryParams,
};
use axum::extract::{FromRequest, Request};
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;

/// The fields of a form of at most 64 KiB. Rejects, in this order, with 413, 503 (too many bodies are being
/// read), 408, 415 and 400.
pub(crate) struct FormBody(QueryParams);

impl<S: Sync> FromRequest<S> for FormBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let bytes = read(body, MAX_BODY, head.extensions.get()).await?;
        if content_type(&head.headers).as_deref() != Some("application/x-www-form-urlencoded") {
            let detail = "Content-Type must be application/x-www-form-urlencoded.";
            return Err(ApiError::http(HttpReason::MediaTypeUnsupported, detail));
        }
        let invalid =
            || ApiError::http(HttpReason::BodyInvalid, "Request body is not valid UTF-8.");
        let text = String::from_utf8(bytes).map_err(|_| invalid())?;
        QueryParams::parse(&text).map(Self).map_err(|_| invalid())
    }
}

impl FormBody {
    /// Rejects with 400 a field that is missing or repeated.
    pub(crate) fn get(&self, name: &str) -> Result<&str, ApiError> {
        let detail = || format!("Field \"{name}\" must be given exactly once.");
        let invalid = || ApiError::http(HttpReason::FieldInvalid, detail());
        self.0.get(name).ok().flatten().ok_or_else(invalid)
    }

    /// Rejects with 400 a field that is repeated.
    pub(crate) fn expect_at_most_one(&self, name: &str) -> Result<(), ApiError> {
        let detail = || format!("Field \"{name}\" is given more than once.");
        let repeated = |_| ApiError::http(HttpReason::FieldInvalid, detail());
        self.0.get(name).map(drop).map_err(repeated)
    }
}
