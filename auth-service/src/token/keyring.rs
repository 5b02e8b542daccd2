//! The keys that sign and verify access tokens.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// HS256 requires a key of at least the size of the hash output (RFC 7518, section 3.2).
pub(super) const MIN_KEY_BYTES: usize = 32;

/// The signing key and the accepted keys.
pub struct Keyring {
    /// The first one signs. Never empty.
    keys: Vec<Key>,
}

/// A secret is not usable as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// Fewer than 32 bytes.
    #[error("must have at least 32 bytes, such as the output of `openssl rand -base64 48`")]
    TooShort,
}

pub(crate) struct Key {
    id: String,
    /// The encoded header of every token that it signs.
    header: String,
    /// HMAC-SHA-256 with the secret, before any input.
    mac: Hmac<Sha256>,
}

impl Keyring {
    /// A ring that signs with `signing` and verifies with all. Duplicate secrets become one key.
    pub fn new(signing: &SecretString, accepted: &[SecretString]) -> Result<Self, KeyringError> {
        let mut keys: Vec<Key> = Vec::new();
        for secret in std::iter::once(signing).chain(accepted) {
            let key = Key::new(secret)?;
            if keys.iter().all(|known| known.id != key.id) {
                keys.push(key);
            }
        }
        Ok(Self { keys })
    }

    /// The `kid` of the signing key.
    #[must_use]
    pub fn signing_kid(&self) -> &str {
        &self.signing().id
    }

    /// The `kid` of every accepted key, the signing one first.
    pub fn kids(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.id.as_str())
    }

    /// The key whose tokens have exactly this encoded header.
    pub(super) fn by_header(&self, header: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.header == header)
    }

    pub(super) fn signing(&self) -> &Key {
        &self.keys[0]
    }

    /// The keys to try for a token: the one with this `kid`, or all for a token without one.
    pub(super) fn candidates(&self, kid: Option<&str>) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| kid.is_none_or(|kid| kid == key.id))
    }
}

impl Key {
    fn new(secret: &SecretString) -> Result<Self, KeyringError> {
        Self::from_bytes(secret.expose_secret().as_bytes())
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, KeyringError> {
        if bytes.len() < MIN_KEY_BYTES {
            return Err(KeyringError::TooShort);
        }
        // Secrets of any length are keys of HMAC.
        let mac = Hmac::new_from_slice(bytes).map_err(|_| KeyringError::TooShort)?;
        let id = key_id(bytes);
        let header = format!(r#"{{"typ":"JWT","alg":"HS256","kid":"{id}"}}"#);
        Ok(Self { id, header: URL_SAFE_NO_PAD.encode(header), mac })
    }

    pub(super) fn header(&self) -> &str {
        &self.header
    }

    /// The encoded header of a token with this mark.
    pub(super) fn marked_header(&self, until: u64) -> String {
        let id = &self.id;
        let header =
            format!(r#"{{"typ":"JWT","alg":"HS256","kid":"{id}","marked_until":{until}}}"#);
        URL_SAFE_NO_PAD.encode(header)
    }

    /// The signature of a message, encoded.
    pub(super) fn sign(&self, message: &str) -> String {
        let mac = self.mac.clone().chain_update(message);
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }

    /// Whether this is the encoded signature of the message. Compares in constant time.
    pub(super) fn verify(&self, message: &str, signature: &str) -> bool {
        // The size of SHA-256, and room for what is too long.
        let mut bytes = [0; 48];
        let decoded = URL_SAFE_NO_PAD.decode_slice(signature, &mut bytes);
        decoded.is_ok_and(|length| {
            self.mac.clone().chain_update(message).verify_slice(&bytes[..length]).is_ok()
        })
    }
}

/// A short digest of the secret, so that all replicas give a key the same `kid`. The label separates
/// it from other uses of the same hash.
fn key_id(secret: &[u8]) -> String {
    let digest = Sha256::new().chain_update(b"rolegate kid\0").chain_update(secret).finalize();
    URL_SAFE_NO_PAD.encode(&digest[..9])
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Keyring")?;
        formatter.debug_list().entries(self.kids()).finish()
    }
}
