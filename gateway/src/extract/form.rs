//! Reads request bodies that are forms of at most 64 KiB.

use super::{
    body_headers::expect_media_type,
    json_body::{MAX_BODY, invalid_body, invalid_field, read_body},
    query_params::QueryParams,
};
use axum::extract::Request;
use rolegate_auth_client::axum::ApiError;

const FORM: &str = "application/x-www-form-urlencoded";
const WRONG_TYPE: &str = "Content-Type must be application/x-www-form-urlencoded.";

/// The fields of a form in a request body.
pub(crate) struct Form {
    fields: QueryParams,
}

impl Form {
    /// Reads the form in the body. A request with several mistakes gets the first error in this order: 413, 503 (too
    /// many bodies are being read), 408, 415, 400.
    pub(crate) async fn read(request: Request) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let bytes = read_body(&head, body, MAX_BODY).await?;
        expect_media_type(&head.headers, WRONG_TYPE, |essence| essence == FORM)?;
        let not_utf8 = || invalid_body("Request body is not valid UTF-8.");
        let text = String::from_utf8(bytes).map_err(|_| not_utf8())?;
        let fields = QueryParams::parse(&text).map_err(|_| not_utf8())?;
        Ok(Self { fields })
    }

    /// Returns the value of a field. Fails with 400 if the field is missing or repeated.
    pub(crate) fn required(&self, name: &str) -> Result<String, ApiError> {
        match self.fields.get(name) {
            Ok(Some(value)) => Ok(value.to_owned()),
            Ok(None) | Err(_) => Err(invalid_field(format!(
                "Field \"{name}\" must be given exactly once."
            ))),
        }
    }

    /// Returns the value of a field, or `None` if it is missing. Fails with 400 if the field is repeated.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<&str>, ApiError> {
        self.fields.get(name).map_err(|_repeated| {
            invalid_field(format!("Field \"{name}\" is given more than once."))
        })
    }
}
