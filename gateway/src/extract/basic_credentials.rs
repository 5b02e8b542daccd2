//! The `Authorization` header of HTTP Basic (RFC 7617).

use axum::extract::FromRequestParts;
use base64::{Engine, engine::general_purpose::STANDARD_PAD_INDIFFERENT};
use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use rolegate_auth_client::axum::ApiError;
use secrecy::{SecretString, zeroize::Zeroizing};

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
    /// The scheme is case-insensitive (RFC 9110, section 11.1); base64 padding is optional.
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("Basic") {
            return None;
        }
        let decoded = STANDARD_PAD_INDIFFERENT.decode(rest.trim_matches(' ')).ok()?;
        Self::from_user_pass(&Zeroizing::new(decoded))
    }

    fn from_user_pass(user_pass: &[u8]) -> Option<Self> {
        let colon = user_pass.iter().position(|&byte| byte == b':')?;
        let (username, password) = (&user_pass[..colon], &user_pass[colon + 1..]);
        // Credentials that are not UTF-8 are well-formed, but no user has them. The empty username,
        // which cannot be registered, gets the same response as a wrong password at the same cost.
        let (username, password) = match (str::from_utf8(username), str::from_utf8(password)) {
            (Ok(username), Ok(password)) => (username, password),
            _ => ("", ""),
        };
        Some(Self { username: username.to_owned(), password: SecretString::from(password) })
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
