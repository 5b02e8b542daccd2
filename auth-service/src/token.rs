//! Access tokens: JWTs (RFC 7519) signed with HS256 (RFC 7518, section 3.2).
//!
//! A token says who its bearer was at login; it decides nothing but the identity. The four claims
//! are `sub`, `username`, `role` and `exp`; a token is judged by its signature, `exp` and `sub`.

mod key_source;
mod keyring;

pub use key_source::KeySource;
pub use keyring::{Keyring, KeyringError};

use crate::{clock::Clock, user::User};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use keyring::Key;
use rolegate_proto::limits::MAX_TOKEN_LEN;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError, RwLock};

/// How long a token is good, from its issue: 30 minutes.
pub const TOKEN_TTL_SECONDS: u64 = 30 * 60;

/// Allowed for replicas whose clocks differ a little, and for the way of a change into the store.
const MARGIN_SECONDS: u64 = 1;

/// Signs and judges access tokens. Clones share their keys, also those that come later.
#[derive(Clone)]
pub struct Tokens {
    /// Replaced as a whole: who signs or judges takes the ring once and stays with it.
    keyring: Arc<RwLock<Arc<Keyring>>>,
    clock: Arc<dyn Clock>,
}

/// What a good token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The id in `sub`.
    pub user_id: i64,
    /// When it was issued, by `exp`, in Unix seconds.
    pub issued: u64,
}

/// Why a token does not establish an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Malformed, forged, expired, or with claims that we do not issue.
    #[error("the token is not valid")]
    Invalid,
    /// Good, but its `sub` is an integer that no user can have as an id.
    #[error("the token names nobody")]
    NoSuchUser,
}

/// A token could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("the token could not be signed")]
pub struct SigningError(#[from] jsonwebtoken::errors::Error);

impl From<serde_json::Error> for SigningError {
    fn from(error: serde_json::Error) -> Self {
        Self(error.into())
    }
}

#[derive(Serialize)]
struct IssuedClaims<'a> {
    sub: String,
    username: &'a str,
    role: &'a str,
    exp: u64,
}

/// What a judgement needs of a header that is not of our making.
#[derive(Deserialize)]
struct JudgedHeader {
    alg: String,
    kid: Option<String>,
    #[serde(default)]
    crit: Presence,
}

/// Whether a member is there, whatever its value.
#[derive(Default)]
struct Presence(bool);

impl Presence {
    fn is_present(&self) -> bool {
        self.0
    }
}

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self(true))
    }
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
        Self { keyring: Arc::new(RwLock::new(Arc::new(keyring))), clock }
    }

    /// The keys of this moment.
    fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.keyring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Signs and judges with other keys from now on.
    pub fn replace_keys(&self, keyring: Keyring) {
        let old = self.keyring();
        let (signs, accepts) = (keyring.signing_kid(), keyring.kids().collect::<Vec<_>>());
        tracing::info!(signs, ?accepts, "the keys of access tokens were read again");
        if old.kids().all(|id| id != signs) {
            tracing::warn!(
                signs,
                "the key that signs was not accepted before: replicas that do not have it yet \
                 refuse its tokens"
            );
        }
        if !accepts.contains(&old.signing_kid()) {
            let kid = old.signing_kid();
            tracing::warn!(kid, "tokens of the key that signed until now are refused at once");
        }
        *self.keyring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keyring);
    }

    /// The `tokens_not_before` of a password that is set now.
    #[must_use]
    pub fn revocation_time(&self) -> u64 {
        revocation_time(self.clock.as_ref())
    }

    /// Whether tokens that are issued now are as late as this.
    #[must_use]
    pub fn is_reached(&self, not_before: u64) -> bool {
        self.clock.unix_seconds() >= not_before
    }

    /// Issues a token for the user. Right after a change of the password it counts as issued when
    /// the old ones have ended, so that it is not one of them.
    pub fn issue(&self, user: &User) -> Result<SecretString, SigningError> {
        let keyring = self.keyring();
        let key = keyring.signing();
        let claims = IssuedClaims {
            sub: user.id.to_string(),
            username: &user.username,
            role: user.role.as_str(),
            exp: self
                .clock
                .unix_seconds()
                .max(user.tokens_not_before)
                .saturating_add(TOKEN_TTL_SECONDS),
        };
        let claims = serde_json::to_vec(&claims)?;
        let message = format!("{}.{}", key.header(), URL_SAFE_NO_PAD.encode(claims));
        let signature = crypto::sign(message.as_bytes(), key.encoding(), Algorithm::HS256)?;
        Ok(SecretString::from(format!("{message}.{signature}")))
    }

    /// Whose token this is, and since when. Whether its user still wants it, the stored user tells.
    pub fn verify(&self, token: &str) -> Result<VerifiedToken, TokenError> {
        if token.len() > MAX_TOKEN_LEN {
            return Err(TokenError::Invalid);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let (header, payload) = message.split_once('.').ok_or(TokenError::Invalid)?;
        if !self.is_signed(header, message, signature)? {
            return Err(TokenError::Invalid);
        }
        let claims: JudgedClaims = from_base64_json(payload)?;
        if self.clock.unix_seconds() >= claims.exp {
            return Err(TokenError::Invalid);
        }
        let issued = claims.exp.saturating_sub(TOKEN_TTL_SECONDS);
        Ok(VerifiedToken { user_id: user_id(&claims.sub)?, issued })
    }

    /// Whether a key of ours signed the message. A header as we issue it names its key as it stands;
    /// any other one is read first.
    fn is_signed(&self, header: &str, message: &str, signature: &str) -> Result<bool, TokenError> {
        let signed_with = |key: &Key| {
            crypto::verify(signature, message.as_bytes(), key.decoding(), Algorithm::HS256)
                .is_ok_and(|is_signed| is_signed)
        };
        let keyring = self.keyring();
        if let Some(key) = keyring.by_header(header) {
            return Ok(signed_with(key));
        }
        let header: JudgedHeader = from_base64_json(header)?;
        // RFC 7515, section 4.1.11: extensions that must be understood; we understand none.
        if header.alg != "HS256" || header.crit.is_present() {
            return Err(TokenError::Invalid);
        }
        Ok(keyring.candidates(header.kid.as_deref()).any(signed_with))
    }
}

/// The `tokens_not_before` of a password that is set now: later than every token that anybody has, so
/// also after the running second and the margin.
#[must_use]
pub fn revocation_time(clock: &dyn Clock) -> u64 {
    clock.unix_seconds().saturating_add(1 + MARGIN_SECONDS)
}

/// Decodes a part of a token: base64url without padding (RFC 7515, section 2) of a JSON object.
fn from_base64_json<T: serde::de::DeserializeOwned>(part: &str) -> Result<T, TokenError> {
    let json = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Invalid)?;
    // serde would take an array for a struct; only an object has claims.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(TokenError::Invalid);
    }
    serde_json::from_slice(&json).map_err(|_| TokenError::Invalid)
}

/// The id in a `sub` presented. Only the canonical decimal form is an id, so that one user has one name.
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
    sub.parse().map_err(|_| TokenError::NoSuchUser)
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
    let _ = crypto::rust_crypto::DEFAULT_PROVIDER.install_default();
    EncodingKey::from_urlsafe_base64_secret(KEY)
        .and_then(|key| crypto::sign(MESSAGE, &key, Algorithm::HS256))
        .is_ok_and(|signature| signature == SIGNATURE)
}

#[cfg(test)]
mod tests;
