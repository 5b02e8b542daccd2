//! Access tokens: JWTs (RFC 7519) signed with HS256 (RFC 7518, section 3.2).
//!
//! A token says who its bearer was at login; it decides nothing but the identity. The four claims
//! are `sub`, `username`, `role` and `exp`; a token is judged by its signature, `exp` and `sub`.

mod keyring;

pub use keyring::{Keyring, KeyringError};

use crate::{clock::Clock, user::User};
use jsonwebtoken::{Algorithm, EncodingKey, Header, Validation};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How long a token is good, from its issue: 30 minutes.
pub const LIFETIME_SECONDS: u64 = 30 * 60;

/// No token of ours comes near; whatever is longer is not worth the work of looking at it.
const LONGEST: usize = 4 * 1024;

/// Signs and judges access tokens.
#[derive(Clone)]
pub struct Tokens {
    keyring: Arc<Keyring>,
    clock: Arc<dyn Clock>,
    validation: Arc<Validation>,
}

/// Why a token does not establish an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Malformed, forged, expired, or with claims that we do not issue.
    #[error("the token is not valid")]
    Invalid,
    /// Good, but its `sub` is an integer that no user can have as an id.
    #[error("the token names nobody")]
    Nobody,
}

/// A token could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("the token could not be signed")]
pub struct SigningError(#[from] jsonwebtoken::errors::Error);

#[derive(Serialize)]
struct IssuedClaims<'a> {
    sub: String,
    username: &'a str,
    role: &'a str,
    exp: u64,
}

/// What a judgement needs; `username` and `role` are of the time of login and decide nothing.
#[derive(Deserialize)]
struct JudgedClaims {
    sub: String,
    exp: u64,
}

impl Tokens {
    /// Tokens signed with the first key of the ring and judged with all of them.
    #[must_use]
    pub fn new(keyring: Keyring, clock: Arc<dyn Clock>) -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        // Time is told by our clock, without leeway; the library would ask the machine's.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        Self { keyring: Arc::new(keyring), clock, validation: Arc::new(validation) }
    }

    /// Issues a token for the user.
    pub fn issue(&self, user: &User) -> Result<SecretString, SigningError> {
        let key = self.keyring.signing();
        let claims = IssuedClaims {
            sub: user.id.to_string(),
            username: &user.username,
            role: user.role.as_str(),
            exp: self.clock.unix_seconds() + LIFETIME_SECONDS,
        };
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(key.id().to_owned());
        Ok(SecretString::from(jsonwebtoken::encode(&header, &claims, key.encoding())?))
    }

    /// Whose token this is: the id in `sub`.
    pub fn judge(&self, token: &str) -> Result<i64, TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::Invalid);
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Invalid)?;
        // RFC 7515, section 4.1.11: extensions that must be understood; we understand none.
        if header.crit.is_some() {
            return Err(TokenError::Invalid);
        }
        let claims = self
            .keyring
            .candidates(header.kid.as_deref())
            .find_map(|key| {
                jsonwebtoken::decode::<JudgedClaims>(token, key.decoding(), &self.validation).ok()
            })
            .ok_or(TokenError::Invalid)?
            .claims;
        if self.clock.unix_seconds() >= claims.exp {
            return Err(TokenError::Invalid);
        }
        user_id(&claims.sub)
    }
}

/// The id in a `sub` claim. Only the canonical decimal form is an id, so that one user has one name.
fn user_id(sub: &str) -> Result<i64, TokenError> {
    let digits = sub.strip_prefix('-').unwrap_or(sub);
    let is_canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == sub.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !is_canonical {
        return Err(TokenError::Invalid);
    }
    sub.parse().map_err(|_| TokenError::Nobody)
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tokens").finish_non_exhaustive()
    }
}

/// Installs the cryptography of the token library and proves it on the published example of
/// RFC 7515, appendix A.1. `false` when it computes something else: then nothing may be signed.
#[must_use]
pub fn self_test() -> bool {
    const KEY: &str =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow==";
    const MESSAGE: &[u8] = b"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    // Already installed is fine: it is the same provider.
    let _ = jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER.install_default();
    EncodingKey::from_urlsafe_base64_secret(KEY)
        .and_then(|key| jsonwebtoken::crypto::sign(MESSAGE, &key, Algorithm::HS256))
        .is_ok_and(|signature| signature == SIGNATURE)
}

#[cfg(test)]
mod tests;
