//! Access tokens: JWTs (RFC 7519) signed with HS256 (RFC 7518, section 3.2).
//!
//! A token has the four claims `sub`, `username`, `role` and `exp`. It proves only the identity of
//! its bearer: `username` and `role` are those of the login and grant nothing.
//!
//! - `keyring`: the signing key and the accepted keys; `key_source`: the settings that hold them.

mod key_source;
mod keyring;

pub use key_source::KeySource;
pub(crate) use key_source::list as secret_list;
pub use keyring::{Keyring, KeyringError};

use crate::{
    clock::Clock,
    user::{MAX_LEAD_SECONDS, User},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use keyring::Key;
use rolegate_proto::limits::MAX_TOKEN_LEN;
use secrecy::SecretString;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::sync::{Arc, PoisonError, RwLock};

/// The lifetime of a token: 30 minutes.
pub const TOKEN_TTL_SECONDS: u64 = 30 * 60;

/// Covers the clock skew between replicas, and the time that a new password takes to be stored.
const CLOCK_SKEW_SECONDS: u64 = 1;

/// How much longer than [`TOKEN_TTL_SECONDS`] a token may be valid: for replicas whose clocks differ.
const MAX_EXTRA_SECONDS: u64 = 60;

/// Issues and verifies access tokens. Clones share their keys, including later replacements.
#[derive(Clone)]
pub struct Tokens {
    /// Replaced as a whole; each call takes one snapshot.
    keyring: Arc<RwLock<Arc<Keyring>>>,
    clock: Arc<dyn Clock>,
}

/// The content of a valid token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The id in `sub`.
    pub user_id: i64,
    /// The time of issue in Unix seconds, derived from `exp`.
    pub issued: u64,
}

/// A token does not establish an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Malformed, forged, expired, not valid yet, or with a `sub` or `exp` that this service does not
    /// issue.
    #[error("the token is invalid")]
    Invalid,
    /// Valid, but its `sub` is an integer outside the range of user ids.
    #[error("the token's user does not exist")]
    NoSuchUser,
}

/// A token could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("the token could not be signed")]
pub struct SigningError(#[from] serde_json::Error);

#[derive(Serialize)]
struct IssuedClaims<'a> {
    sub: String,
    username: &'a str,
    role: &'a str,
    exp: u64,
}

/// The verified claims. serde refuses floats and duplicates.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: u64,
    /// Not in tokens of this service.
    nbf: Option<u64>,
}

/// A header that this service did not issue. Any `crit` member counts, even `null`.
#[derive(Deserialize)]
struct ForeignHeader {
    alg: String,
    kid: Option<String>,
    #[serde(default, deserialize_with = "is_present")]
    crit: bool,
}

fn is_present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl Tokens {
    /// Signs with the first key of the ring and verifies with all of them.
    #[must_use]
    pub fn new(keyring: Keyring, clock: Arc<dyn Clock>) -> Self {
        Self { keyring: Arc::new(RwLock::new(Arc::new(keyring))), clock }
    }

    fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.keyring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the keys of this and all clones.
    pub fn replace_keys(&self, keyring: Keyring) {
        let old = self.keyring();
        let (signs, accepts) = (keyring.signing_kid(), keyring.kids().collect::<Vec<_>>());
        tracing::info!(signs, ?accepts, "reloaded the keys of access tokens");
        if old.kids().all(|kid| kid != signs) {
            tracing::warn!(
                signs,
                "the new signing key was not accepted before: replicas that have not reloaded \
                 refuse its tokens"
            );
        }
        if !accepts.contains(&old.signing_kid()) {
            let kid = old.signing_kid();
            tracing::warn!(kid, "the previous signing key is not accepted: its tokens are refused");
        }
        *self.keyring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keyring);
    }

    /// See [`revocation_time`].
    #[must_use]
    pub fn revocation_time(&self) -> u64 {
        revocation_time(self.clock.as_ref())
    }

    /// The time of the clock that judges tokens, in Unix seconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.clock.unix_seconds()
    }

    /// Whether the clock has reached `time`, in Unix seconds.
    #[must_use]
    pub fn is_reached(&self, time: u64) -> bool {
        self.clock.unix_seconds() >= time
    }

    /// How many seconds remain until a token may be issued for the user: none, except after many
    /// revocations in a row.
    #[must_use]
    pub fn seconds_until_issue(&self, user: &User) -> u64 {
        let latest = self.clock.unix_seconds().saturating_add(MAX_LEAD_SECONDS);
        user.tokens_not_before.saturating_sub(latest)
    }

    /// Issues a token for the user. Its time of issue is never before the user's
    /// `tokens_not_before`, so a new password does not revoke the tokens issued right after it.
    pub fn issue(&self, user: &User) -> Result<SecretString, SigningError> {
        let keyring = self.keyring();
        let key = keyring.signing();
        let issued = self.clock.unix_seconds().max(user.tokens_not_before);
        let claims = serde_json::to_vec(&IssuedClaims {
            sub: user.id.to_string(),
            username: &user.username,
            role: user.role.as_str(),
            exp: issued.saturating_add(TOKEN_TTL_SECONDS),
        })?;
        let message = format!("{}.{}", key.header(), URL_SAFE_NO_PAD.encode(claims));
        let signature = key.sign(&message);
        Ok(SecretString::from(format!("{message}.{signature}")))
    }

    /// Verifies signature, `exp`, `nbf` and `sub`. The caller compares `issued` with the stored user.
    pub fn verify(&self, token: &str) -> Result<VerifiedToken, TokenError> {
        if token.len() > MAX_TOKEN_LEN {
            return Err(TokenError::Invalid);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let (header, payload) = message.split_once('.').ok_or(TokenError::Invalid)?;
        if !self.is_signed(header, message, signature)? {
            return Err(TokenError::Invalid);
        }
        let claims: Claims = decode_json(payload)?;
        let now = self.clock.unix_seconds();
        let latest = now.saturating_add(TOKEN_TTL_SECONDS + MAX_EXTRA_SECONDS);
        let is_valid_now = now < claims.exp && claims.nbf.is_none_or(|nbf| nbf <= now);
        // A later `exp` is of a token that this service did not issue, or of a wrong clock.
        if !is_valid_now || claims.exp > latest {
            return Err(TokenError::Invalid);
        }
        let issued = claims.exp.saturating_sub(TOKEN_TTL_SECONDS);
        Ok(VerifiedToken { user_id: parse_user_id(&claims.sub)?, issued })
    }

    /// A header that this service issued names its key; comparing its text is cheaper than parsing.
    fn is_signed(&self, header: &str, message: &str, signature: &str) -> Result<bool, TokenError> {
        let signed_with = |key: &Key| key.verify(message, signature);
        let keyring = self.keyring();
        if let Some(key) = keyring.by_header(header) {
            return Ok(signed_with(key));
        }
        let header: ForeignHeader = decode_json(header)?;
        // RFC 7515, section 4.1.11: no critical extension is supported.
        if header.alg != "HS256" || header.crit {
            return Err(TokenError::Invalid);
        }
        Ok(keyring.candidates(header.kid.as_deref()).any(signed_with))
    }
}

/// Decodes a part of a token: base64url without padding (RFC 7515, section 2) of a JSON object.
fn decode_json<T: DeserializeOwned>(part: &str) -> Result<T, TokenError> {
    let json = URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Invalid)?;
    // serde accepts an array for a struct; claims are members of an object.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(TokenError::Invalid);
    }
    serde_json::from_slice(&json).map_err(|_| TokenError::Invalid)
}

/// The `tokens_not_before` of a password that is set now: later than every token issued so far, by
/// this replica in the current second or by one whose clock is ahead.
#[must_use]
pub fn revocation_time(clock: &dyn Clock) -> u64 {
    clock.unix_seconds().saturating_add(1 + CLOCK_SKEW_SECONDS)
}

/// Parses a `sub` claim. Only the canonical decimal form is valid, so that an id has one spelling.
fn parse_user_id(sub: &str) -> Result<i64, TokenError> {
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

/// Checks HS256 against the example of RFC 7515, appendix A.1. On `false` no token may be signed.
#[must_use]
pub fn self_test() -> bool {
    const KEY: &str =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    const MESSAGE: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let key = URL_SAFE_NO_PAD.decode(KEY).ok().and_then(|bytes| Key::from_bytes(&bytes).ok());
    key.is_some_and(|key| key.sign(MESSAGE) == SIGNATURE && key.verify(MESSAGE, SIGNATURE))
}

#[cfg(test)]
mod tests;
