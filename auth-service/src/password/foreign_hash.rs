//! Reads and checks password hashes that other systems have made with argon2, scrypt or PBKDF2. An import
//! brings such a hash into the database, and the next successful login replaces it by bcrypt.
//!
//! - `translation` turns the formats of other systems into the formats that are stored.
//! - `pbkdf2` has the stored formats of PBKDF2. Hashes of argon2 and scrypt are stored as PHC strings.
//! - `cost` estimates the work and memory of a check, and limits both.
//!
//! The checks run in `foreign_checks`. `importable` has the further rules of an import.

mod cost;
mod pbkdf2;
#[cfg(test)]
mod tests;
mod translation;

pub(super) use translation::translate;

use super::rejection::HashRejection;
use argon2::Argon2;
use cost::Cost;
use password_hash::{PasswordVerifier, phc::PasswordHash};
use pbkdf2::Pbkdf2;
use scrypt::Scrypt;
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

/// The prefix of a stored hash whose password was normalized to NFKC before it was hashed, as better-auth does.
const NORMALIZED: &str = "nfkc:";

/// A hash of another system whose cost is within the limits. It has no `Debug`, so it is never printed.
pub(crate) struct ForeignHash {
    algorithm: Algorithm,
    pub(super) cost: Cost,
    /// True if the password is normalized to NFKC before it is hashed.
    is_normalized: bool,
}

enum Algorithm {
    /// A PHC string of argon2id, such as `$argon2id$v=19$m=65536,t=3,p=4$…`, or of argon2i.
    Argon2(Box<PasswordHash>),
    /// A hash such as `pbkdf2_sha256$…`, `$pbkdf2-sha256$…` or `$pbkdf2-sha512$…`.
    Pbkdf2(Pbkdf2),
    /// A PHC string such as `$scrypt$ln=16,r=8,p=1$…`.
    Scrypt(Box<PasswordHash>),
}

impl Algorithm {
    fn parse(text: &str) -> Result<Self, HashRejection> {
        if let Some(hash) = Pbkdf2::parse(text) {
            hash.map(Self::Pbkdf2)
        } else if text.starts_with("$argon2") {
            parse_phc(text, "argon2").map(Self::Argon2)
        } else if text.starts_with("$scrypt$") {
            parse_phc(text, "scrypt").map(Self::Scrypt)
        } else {
            Err(HashRejection::UnknownFormat)
        }
    }

    /// Estimates the cost of a check. Returns an error if the cost is above the limits, or if a parameter is
    /// malformed or not supported.
    fn cost(&self) -> Result<Cost, HashRejection> {
        match self {
            Self::Argon2(hash) => cost::argon2_cost(hash),
            Self::Pbkdf2(hash) => cost::pbkdf2_cost(hash),
            Self::Scrypt(hash) => cost::scrypt_cost(hash),
        }
    }
}

impl ForeignHash {
    /// Parses a hash. Returns an error if the format is unknown or malformed, or if a check would need more
    /// work or memory than the limits allow.
    pub(crate) fn parse(text: &str) -> Result<Self, HashRejection> {
        let normalized = text.strip_prefix(NORMALIZED);
        let algorithm = Algorithm::parse(normalized.unwrap_or(text))?;
        Ok(Self {
            cost: algorithm.cost()?,
            algorithm,
            is_normalized: normalized.is_some(),
        })
    }

    /// Returns whether the hash was computed from exactly the bytes of `password`. If not, a new hash of these
    /// bytes would refuse other spellings of the password that this hash accepts.
    pub(super) fn is_exact_for(&self, password: &str) -> bool {
        !self.is_normalized || unicode_normalization::is_nfkc(password)
    }

    /// Returns whether this is the hash of this password. Blocks the thread for up to about ten seconds.
    pub(crate) fn matches(&self, password: &str) -> bool {
        let normalized: Zeroizing<String>;
        let mut password = password;
        if self.is_normalized {
            normalized = Zeroizing::new(password.nfkc().collect());
            password = &normalized;
        }
        let password = password.as_bytes();
        match &self.algorithm {
            Algorithm::Argon2(hash) => Argon2::default().verify_password(password, &**hash).is_ok(),
            Algorithm::Pbkdf2(hash) => hash.matches(password),
            Algorithm::Scrypt(hash) => Scrypt::new().verify_password(password, &**hash).is_ok(),
        }
    }
}

/// Parses a PHC string, which must have a salt and a hash.
fn parse_phc(text: &str, algorithm: &'static str) -> Result<Box<PasswordHash>, HashRejection> {
    match PasswordHash::new(text) {
        Ok(hash) if hash.salt.is_some() && hash.hash.is_some() => Ok(Box::new(hash)),
        _ => Err(HashRejection::Malformed(algorithm)),
    }
}
