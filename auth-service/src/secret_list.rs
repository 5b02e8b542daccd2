//! Parses settings that hold several secrets, such as `SIGNING_SECRETS_ACCEPTED`, and computes the ids by which
//! their keys are found.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rolegate_program::{
    secret::{self, SecretSource},
    settings::SettingError,
};
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The minimum length of a secret, in bytes. HS256 requires a key at least as long as the hash output (RFC
/// 7518, section 3.2).
pub(crate) const MIN_SECRET_BYTES: usize = 32;

/// The number of bytes of a digest that are an id, encoded in base64url.
const ID_BYTES: usize = 9;

/// Computes the id of a secret: a short digest, so that all replicas give a secret the same id.
pub(crate) fn id(label: &str, secret: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(&digest(label, secret)[..ID_BYTES])
}

/// Computes a digest of a secret. With a different label for each use, no digest reveals anything about another
/// one.
pub(crate) fn digest(label: &str, secret: &[u8]) -> Zeroizing<[u8; 32]> {
    let digest = Sha256::new()
        .chain_update(label)
        .chain_update(secret)
        .finalize();
    Zeroizing::new(digest.into())
}

/// Splits the `text` of a setting at commas and line ends.
///
/// A secret that is too short is an error: if it were left out, valid tokens would be refused. White space or
/// another invisible character at the ends of a secret is an error, too, except for the carriage return of a
/// line end. An empty environment variable is an empty list. An empty file is an error, because another program
/// may still be writing it.
pub(crate) fn split(source: &SecretSource, text: &str) -> Result<Vec<SecretString>, SettingError> {
    if text.is_empty() && !source.is_file() {
        return Ok(Vec::new());
    }
    let mut secrets = Vec::new();
    for (index, secret) in text.split([',', '\n']).enumerate() {
        let number = index + 1;
        if secret.len() < MIN_SECRET_BYTES {
            return Err(source.invalid(format!(
                "secret {number} of the list has fewer than {MIN_SECRET_BYTES} bytes; secrets are \
                 separated by commas or newlines"
            )));
        }
        let secret = secret::without_line_end(secret)
            .map_err(|error| source.invalid(format!("secret {number} of the list {error}")))?;
        secrets.push(secret);
    }
    Ok(secrets)
}
