//! Stores the name that a user had before a renaming in such a form that it can be erased later.
//!
//! The row of the renaming keeps the old name beside a random salt, and the row's details have the digest of
//! both. The seal covers the details, so nobody can change the name unnoticed. After an erasure only the digest
//! is left, and without the salt nobody can find the name by hashing guesses.

use crate::secret_generation::random_bytes;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::io;

const SALT_BYTES: usize = 16;

/// The name of the field in the column `details` that contains the digest of a former username.
pub(crate) const FORMER_DIGEST: &str = "from_sha256";

/// A former username, with the random salt of its digest.
#[derive(Debug)]
pub(crate) struct FormerUsername {
    pub(crate) name: String,
    /// The salt, in hex.
    salt: String,
}

impl FormerUsername {
    pub(crate) fn new(name: String) -> io::Result<Self> {
        let salt = generate_salt()?;
        Ok(Self { name, salt })
    }

    pub(crate) fn digest(&self) -> String {
        salted_digest(&self.salt, &self.name)
    }

    /// Returns the salt and the name as the column `former_username` stores them.
    pub(crate) fn to_stored(&self) -> String {
        format!("{} {}", self.salt, self.name)
    }

    /// Parses the value of the column `former_username`. Returns `None` if it has no salt.
    pub(crate) fn from_stored(stored: &str) -> Option<Self> {
        let (salt, name) = stored.split_once(' ')?;
        Some(Self {
            name: name.to_owned(),
            salt: salt.to_owned(),
        })
    }
}

/// Generates a random salt, in hex. Fails only if the system provides no random bytes.
pub(crate) fn generate_salt() -> io::Result<String> {
    Ok(hex::encode(random_bytes::<SALT_BYTES>()?))
}

/// Computes the digest of a salt and a value. The value is hashed as JSON, so `None` differs from every string.
pub(crate) fn salted_digest(salt: &str, value: &impl Serialize) -> String {
    hex::encode(Sha256::digest(json!([salt, value]).to_string()))
}
