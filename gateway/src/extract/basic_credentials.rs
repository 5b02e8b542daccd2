//! The `Authorization` header of HTTP Basic (RFC 7617).

use axum::extract::FromRequestParts;
use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::authorization::basic_credentials;
use secrecy::SecretString;

/// Unverified credentials. Rejects with 401 `Not authenticated.` if the header is missing, repeated
/// or not of the form `Basic <base64 of username:password>`.
#[derive(Clone, Debug)]
pub(crate) struct BasicCredentials {
    /// The text before the first colon.
    pub(crate) username: String,
    /// The text after the first colon, which may contain more colons.
    pub(crate) password: SecretString,
}

impl BasicCredentials {
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let (username, password) = basic_credentials(value.as_bytes())?;
        Some(Self { username, password })
    }
}

impl<S: Sync> FromRequestParts<S> for BasicCredentials {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::from_headers(&parts.headers).ok_or_else(ApiError::not_authenticated)
    }
}

#[cfg(test)]
mod tests;
