//! Hashes that other systems have made: argon2, scrypt and PBKDF2. They come into the database by an
//! import, and a successful login replaces each by bcrypt.

mod cost;
mod pbkdf2;
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

/// Before a hash of a password that was normalized, as better-auth does.
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

impl ForeignHash {
    /// Parses a hash and checks that it needs no more than the engine gives one check.
    pub(crate) fn parse(text: &str) -> Result<Self, HashRejection> {
        let normalized = text.strip_prefix(NORMALIZED);
        let text = normalized.unwrap_or(text);
        let (algorithm, cost) = if let Some(hash) = Pbkdf2::parse(text) {
            let hash = hash?;
            let cost = cost::pbkdf2(&hash)?;
            (Algorithm::Pbkdf2(hash), cost)
        } else if text.starts_with("$argon2") {
            let hash = phc(text).ok_or(HashRejection::Malformed("argon2"))?;
            let cost = cost::argon2(&hash)?;
            (Algorithm::Argon2(hash), cost)
        } else if text.starts_with("$scrypt$") {
            let hash = phc(text).ok_or(HashRejection::Malformed("scrypt"))?;
            let cost = cost::scrypt(&hash)?;
            (Algorithm::Scrypt(hash), cost)
        } else {
            return Err(HashRejection::UnknownFormat);
        };
        Ok(Self {
            algorithm,
            cost,
            is_normalized: normalized.is_some(),
        })
    }

    /// Whether this hash is of the very bytes of `password`. Otherwise a hash of them would refuse other
    /// spellings that this one accepts.
    pub(super) fn is_of_bytes(&self, password: &str) -> bool {
        !self.is_normalized || unicode_normalization::is_nfkc(password)
    }

    /// Whether it is the hash of this password. Takes up to ten seconds.
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

/// A PHC string with salt and hash.
fn phc(text: &str) -> Option<Box<PasswordHash>> {
    let hash = PasswordHash::new(text).ok()?;
    (hash.salt.is_some() && hash.hash.is_some()).then(|| Box::new(hash))
}

#[cfg(test)]
mod tests;
