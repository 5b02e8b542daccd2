//! Access tokens made by the tests, valid and invalid (RFC 7519).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
///
/// # Panics
///
/// On a machine whose clock is before 1970.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the programs under test use the real clock too")]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// The header of an ordinary token.
#[must_use]
pub fn plain_header() -> Value {
    json!({ "typ": "JWT", "alg": "HS256" })
}

/// Claims of an ordinary token of this user, valid for an hour.
#[must_use]
pub fn claims_of(id: i64) -> Value {
    json!({ "sub": id.to_string(), "username": "x", "role": "user", "exp": now() + 1800 })
}

/// A token signed with HMAC-SHA-256, whatever algorithm its header names.
#[must_use]
pub fn signed(header: &Value, claims: &Value, secret: &str) -> String {
    signed_text(&header.to_string(), &claims.to_string(), secret, Algorithm::HS256)
}

/// A token of any header and payload.
///
/// # Panics
///
/// When the algorithm is not one of the HMAC family.
#[must_use]
pub fn signed_text(header: &str, payload: &str, secret: &str, algorithm: Algorithm) -> String {
    // Installing it twice changes nothing.
    let _ = jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER.install_default();
    let message = format!("{}.{}", encoded(header), encoded(payload));
    let key = EncodingKey::from_secret(secret.as_bytes());
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, algorithm);
    format!("{message}.{}", signature.expect("an HMAC algorithm"))
}

/// base64url without padding.
#[must_use]
pub fn encoded(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// The claims of a token, unverified.
#[must_use]
pub fn claims(token: &str) -> Value {
    part(token, 1)
}

/// The header of a token.
#[must_use]
pub fn header(token: &str) -> Value {
    part(token, 0)
}

fn part(token: &str, index: usize) -> Value {
    let text = token.split('.').nth(index).expect("the token has three parts");
    let bytes = URL_SAFE_NO_PAD.decode(text).expect("base64url");
    serde_json::from_slice(&bytes).expect("JSON")
}
