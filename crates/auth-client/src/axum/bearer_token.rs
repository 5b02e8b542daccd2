//! The access token in the `Authorization` header.

use super::ApiError;
use axum::extract::FromRequestParts;
use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use rolegate_proto::authorization::bearer_token;
use secrecy::SecretString;

/// The access token of a request, not verified. Rejects with 401 `Not authenticated.` where the header
/// is missing, repeated or not of the form `Bearer <token>`.
#[derive(Clone, Debug)]
pub struct BearerToken(pub SecretString);

impl BearerToken {
    /// Reads the header.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        bearer_token(value.as_bytes()).map(|token| Self(SecretString::from(token)))
    }
}

impl<S: Sync> FromRequestParts<S> for BearerToken {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::from_headers(&parts.headers).ok_or_else(ApiError::not_authenticated)
    }
}

#[cfg(test)]
mod tests {
    use super::BearerToken;
    use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
    use secrecy::ExposeSecret;

    fn token_of(values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).expect("a header value"));
        }
        BearerToken::from_headers(&headers).map(|token| token.0.expose_secret().to_owned())
    }

    #[test]
    fn scheme_is_case_insensitive_and_token_is_unchanged() {
        for value in ["Bearer a.B-_c", "bearer a.B-_c", "BEARER  a.B-_c"] {
            assert_eq!(token_of(&[value]).as_deref(), Some("a.B-_c"), "{value}");
        }
    }

    #[test]
    fn every_other_form_is_rejected() {
        for value in
            ["", "Bearer", "Bearer ", "Bearer a b", "Basic YTpi", "Bearera", "Bearer\ta", "a"]
        {
            assert_eq!(token_of(&[value]), None, "{value:?}");
        }
        assert_eq!(token_of(&[]), None);
        assert_eq!(token_of(&["Bearer a", "Bearer a"]), None, "two headers are ambiguous");
    }
}
