//! Request bodies: forms of at most 64 KiB.

use super::{
    body_headers::expect_media_type,
    json_body::{MAX_BODY, invalid, read},
    query_params::QueryParams,
};
use axum::extract::Request;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;

const FORM: &str = "application/x-www-form-urlencoded";
const WRONG_TYPE: &str = "Content-Type must be application/x-www-form-urlencoded.";

pub(crate) struct Form(QueryParams);

impl Form {
    /// Rejects, in this order, with 413, 503 (too many bodies are being read), 408, 415 and 400.
    pub(crate) async fn read(request: Request) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let bytes = read(&head, body, MAX_BODY).await?;
        expect_media_type(&head.headers, WRONG_TYPE, |essence| essence == FORM)?;
        let form = String::from_utf8(bytes)
            .ok()
            .and_then(|text| QueryParams::parse(&text).ok());
        form.map(Self)
            .ok_or_else(|| invalid("Request body is not valid UTF-8."))
    }

    /// Rejects with 400 a field that is missing or repeated.
    pub(crate) fn required(&self, name: &str) -> Result<String, ApiError> {
        let value = self.0.get(name).ok().flatten().map(str::to_owned);
        value.ok_or_else(|| field(format!("Field \"{name}\" must be given exactly once.")))
    }

    /// Rejects with 400 a field that is repeated.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let repeated = format!("Field \"{name}\" is given more than once.");
        self.0.get(name).map_err(|_| field(repeated))
    }
}

fn field(detail: String) -> ApiError {
    ApiError::http(HttpReason::FieldInvalid, detail)
}
