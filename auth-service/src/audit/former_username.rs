//! The name that a user had before a renaming.
//!
//! The row of the renaming keeps it beside a salt, and its details have the digest of both. The seal covers the details, so
//! the name cannot be changed, and erasing it leaves a digest by which nobody can guess it.

use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

const SALT_BYTES: usize = 16;

/// The detail that has the digest.
pub(crate) const FORMER_DIGEST: &str = "from_sha256";

/// A name with its salt.
#[derive(Clone, Debug)]
pub(crate) struct FormerUsername {
    pub(crate) name: String,
    /// The salt in hex.
    salt: String,
}

impl FormerUsername {
    pub(crate) fn new(name: String) -> Result<Self, getrandom::Error> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt)?;
        Ok(Self {
            name,
            salt: hex::encode(salt),
        })
    }

    pub(crate) fn digest(&self) -> String {
        salted_digest(&self.salt, &self.name)
    }

    /// The text of the column.
    pub(crate) fn to_stored(&self) -> String {
        format!("{} {}", self.salt, self.name)
    }

    /// Reads the text of the column; `None` if it has no salt.
    pub(crate) fn from_stored(stored: &str) -> Option<Self> {
        let (salt, name) = stored.split_once(' ')?;
        Some(Self {
            name: name.to_owned(),
            salt: salt.to_owned(),
        })
    }
}

/// Computes the digest of a salt and a value. `None` has another digest than every text.
pub(crate) fn salted_digest(salt: &str, value: &impl Serialize) -> String {
    hex::encode(Sha256::digest(json!([salt, value]).to_string()))
}
