//! Hashes that other systems have made: argon2, scrypt and PBKDF2. They come into the database by an
//! import, and a successful login replaces each by bcrypt.
//!
//! - `translation`: the forms of other systems, translated into those that are stored.
//! - `pbkdf2`: the stored forms of PBKDF2; those of argon2 and scrypt are PHC strings.
//! - `cost`: the cost of a check, and the most that it may cost.

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

/// Stands before a hash of a password that was normalized, as better-auth does.
const NORMALIZED: &str = "nfkc:";

/// A hash within the limits. Reveals nothing when printed.
pub(crate) struct ForeignHash {
    algorithm: Algorithm,
    pub(super) cost: Cost,
    /// Whether the password is normalized to NFKC.
    is_normalized: bool,
}

enum Algorithm {
    /// `$argon2id$v=19$m=65536,t=3,p=4$…` or argon2i.
    Argon2(Box<PasswordHash>),
    /// `pbkdf2_sha256$…`, `$pbkdf2-sha256$…` or `$pbkdf2-sha512$…`.
    Pbkdf2(Pbkdf2),
    /// `$scrypt$ln=16,r=8,p=1$…`.
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

    /// Computes the cost of a check, or refuses it if it is too high.
    fn cost(&self) -> Result<Cost, HashRejection> {
        match self {
            Self::Argon2(hash) => cost::argon2_cost(hash),
            Self::Pbkdf2(hash) => cost::pbkdf2_cost(hash),
            Self::Scrypt(hash) => cost::scrypt_cost(hash),
        }
    }
}

impl ForeignHash {
    /// Parses a hash and checks that it needs no more than the engine gives one check.
    pub(crate) fn parse(text: &str) -> Result<Self, HashRejection> {
        let normalized = text.strip_prefix(NORMALIZED);
        let algorithm = Algorithm::parse(normalized.unwrap_or(text))?;
        Ok(Self {
            cost: algorithm.cost()?,
            algorithm,
            is_normalized: normalized.is_some(),
        })
    }

    /// Whether this hash is of the very bytes of `password`. Otherwise a hash of them would refuse other
    /// spellings that this one accepts.
    pub(super) fn is_exact_for(&self, password: &str) -> bool {
        !self.is_normalized || unicode_normalization::is_nfkc(password)
    }

    /// Whether this is the hash of this password. Takes up to ten seconds.
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

/// Parses a PHC string, which must have salt and hash.
fn parse_phc(text: &str, algorithm: &'static str) -> Result<Box<PasswordHash>, HashRejection> {
    match PasswordHash::new(text) {
        Ok(hash) if hash.salt.is_some() && hash.hash.is_some() => Ok(Box::new(hash)),
        _ => Err(HashRejection::Malformed(algorithm)),
    }
}
