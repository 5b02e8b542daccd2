//! Access tokens that tests make themselves, valid and invalid (RFC 7519).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::{Sha256, Sha384, Sha512};
use std::time::{SystemTime, UNIX_EPOCH};

/// HMAC with SHA-2 (RFC 7518, section 3.2), implemented without code of the programs.
#[derive(Clone, Copy, Debug)]
pub enum Algorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// HMAC with SHA-384.
    Hs384,
    /// HMAC with SHA-512.
    Hs512,
}

/// Returns the current time, in Unix seconds.
///
/// # Panics
///
/// Panics if the clock of the machine is before 1970.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the programs under test use the real clock too"
)]
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_secs()
}

/// Returns the header of an ordinary token.
#[must_use]
pub fn plain_header() -> Value {
    json!({ "typ": "JWT", "alg": "HS256" })
}

/// Returns the claims of an ordinary token of this user, valid for half an hour.
#[must_use]
pub fn claims_of(id: i64) -> Value {
    json!({ "sub": id.to_string(), "username": "x", "role": "user", "exp": now() + 1800 })
}

/// Returns a token that is signed with HMAC-SHA-256, whatever algorithm its header names.
#[must_use]
pub fn signed(header: &Value, claims: &Value, secret: &str) -> String {
    signed_text(
        &header.to_string(),
        &claims.to_string(),
        secret,
        Algorithm::Hs256,
    )
}

/// Returns a signed token with any header and payload.
///
/// # Panics
///
/// Never panics: HMAC accepts keys of any length.
#[must_use]
pub fn signed_text(header: &str, payload: &str, secret: &str, algorithm: Algorithm) -> String {
    macro_rules! sign {
        ($hash:ty, $message:expr) => {{
            let mac = Hmac::<$hash>::new_from_slice(secret.as_bytes()).expect("a key");
            URL_SAFE_NO_PAD.encode(mac.chain_update($message).finalize().into_bytes())
        }};
    }
    let message = format!("{}.{}", encoded(header), encoded(payload));
    let signature = match algorithm {
        Algorithm::Hs256 => sign!(Sha256, &message),
        Algorithm::Hs384 => sign!(Sha384, &message),
        Algorithm::Hs512 => sign!(Sha512, &message),
    };
    format!("{message}.{signature}")
}

/// Encodes text in base64url without padding.
#[must_use]
pub fn encoded(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// Reads the claims of a token without verifying it.
#[must_use]
pub fn claims(token: &str) -> Value {
    part(token, 1)
}

/// Reads the header of a token.
#[must_use]
pub fn header(token: &str) -> Value {
    part(token, 0)
}

fn part(token: &str, index: usize) -> Value {
    let text = token
        .split('.')
        .nth(index)
        .expect("the token has three parts");
    let bytes = URL_SAFE_NO_PAD.decode(text).expect("base64url");
    serde_json::from_slice(&bytes).expect("JSON")
}
