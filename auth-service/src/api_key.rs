//! API keys: bearer credentials of programs that act as a user.
//!
//! A key is `rgk_` and 32 random bytes in base64url. It is found by its SHA-256, which is all that is
//! stored of it: 256 random bits cannot be guessed, so they need no slow hash, and a lookup by digest
//! compares no secret.

use crate::user::User;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
pub use rolegate_proto::authorization::is_api_key;
use rolegate_proto::{Role, limits::API_KEY_PREFIX};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use std::io;

/// Before base64url.
const RANDOM_BYTES: usize = 32;
/// Characters of a key that are stored, for people to recognise it.
const SHOWN_CHARS: usize = 8;

/// A stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Assigned by the database, at least 1, never reused.
    pub id: i64,
    /// The user who acts by it.
    pub user_id: i64,
    /// As its user named it.
    pub name: String,
    /// The first 8 characters of the key.
    pub prefix: String,
    /// The highest role that it grants; `None` for the user's.
    pub role: Option<Role>,
    /// In Unix seconds, as the times below.
    pub created_at: u64,
    /// When it ends; `None` for never.
    pub expires_at: Option<u64>,
    /// When it was last presented while it was good, up to a minute late.
    pub last_used_at: Option<u64>,
}

/// What a decision needs of a stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBearer {
    /// The digest of the key.
    pub digest: String,
    /// The id of the key.
    pub key_id: i64,
    /// The highest role that it grants; `None` for the user's.
    pub role: Option<Role>,
    /// When it ends, in Unix seconds; `None` for never.
    pub expires_at: Option<u64>,
    /// The user who acts by it, as stored.
    pub user: User,
}

/// A key that was generated and is not stored yet.
#[derive(Debug)]
pub struct GeneratedKey {
    /// The key itself.
    pub key: SecretString,
    /// The first 8 characters.
    pub prefix: String,
    /// What is stored of it.
    pub digest: String,
}

/// The digest by which a key is found, in hex; `None` if it is malformed.
#[must_use]
pub fn digest(key: &str) -> Option<String> {
    let mut random = [0_u8; RANDOM_BYTES + 1];
    let decoded = URL_SAFE_NO_PAD.decode_slice(key.strip_prefix(API_KEY_PREFIX)?, &mut random);
    (decoded.ok()? == RANDOM_BYTES).then(|| hex(&Sha256::digest(key)))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Generates a key; fails only without system randomness.
pub fn generate() -> io::Result<GeneratedKey> {
    let mut random = [0_u8; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let key = SecretString::from(format!("{API_KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(random)));
    let text = key.expose_secret();
    let prefix = text.chars().take(SHOWN_CHARS).collect();
    let digest = digest(text).ok_or_else(|| io::Error::other("a generated key is malformed"))?;
    Ok(GeneratedKey { key, prefix, digest })
}

impl KeyBearer {
    /// The user with the lower of the stored role and the key's.
    #[must_use]
    pub fn into_bounded_user(self) -> User {
        let role = self.role.map_or(self.user.role, |bound| bound.lower(self.user.role));
        User { role, ..self.user }
    }
}

#[cfg(test)]
mod tests;
