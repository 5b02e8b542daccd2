//! Hashes that other systems have made: argon2, scrypt and PBKDF2. They come into the database by an
//! import, and a right login replaces each by bcrypt.

mod limits;
mod pbkdf2_sha256;

pub use limits::ForeignHashError;

use argon2::Argon2;
use limits::{argon2_work, pbkdf2_work, scrypt_work};
use password_hash::{PasswordVerifier, phc::PasswordHash};
use pbkdf2_sha256::Pbkdf2Sha256;
use rolegate_bcrypt_lanes::ForeignCheck;
use scrypt::Scrypt;
use secrecy::{ExposeSecret, SecretString};

/// A hash within the limits. Reveals nothing when printed.
pub(super) struct ForeignHash {
    algorithm: Algorithm,
    work: u64,
}

enum Algorithm {
    /// `$argon2id$v=19$m=65536,t=3,p=4$…` or argon2i.
    Argon2(Box<PasswordHash>),
    /// `pbkdf2_sha256$…` or `$pbkdf2-sha256$…`.
    Pbkdf2Sha256(Pbkdf2Sha256),
    /// `$scrypt$ln=16,r=8,p=1$…`.
    Scrypt(Box<PasswordHash>),
}

impl ForeignHash {
    /// Parses a hash and checks that it needs no more than the engine gives one check.
    pub(super) fn parse(text: &str) -> Result<Self, ForeignHashError> {
        let (algorithm, work) = if let Some(hash) = Pbkdf2Sha256::parse(text) {
            let hash = hash?;
            let work = pbkdf2_work(hash.iterations)?;
            (Algorithm::Pbkdf2Sha256(hash), work)
        } else if text.starts_with("$argon2") {
            let hash = phc(text).ok_or(ForeignHashError::Malformed("argon2"))?;
            let work = argon2_work(&hash)?;
            (Algorithm::Argon2(hash), work)
        } else if text.starts_with("$scrypt$") {
            let hash = phc(text).ok_or(ForeignHashError::Malformed("scrypt"))?;
            let work = scrypt_work(&hash)?;
            (Algorithm::Scrypt(hash), work)
        } else {
            return Err(ForeignHashError::UnknownFormat);
        };
        Ok(Self { algorithm, work })
    }

    /// The check of a password, for the threads of the engine.
    pub(super) fn check(self, password: SecretString) -> ForeignCheck {
        let Self { algorithm, work } = self;
        let run = move || {
            let password = password.expose_secret().as_bytes();
            match &algorithm {
                Algorithm::Argon2(hash) => {
                    Argon2::default().verify_password(password, &**hash).is_ok()
                }
                Algorithm::Pbkdf2Sha256(hash) => hash.matches(password),
                Algorithm::Scrypt(hash) => Scrypt::new().verify_password(password, &**hash).is_ok(),
            }
        };
        ForeignCheck { work, run: Box::new(run) }
    }
}

/// A PHC string with salt and hash.
fn phc(text: &str) -> Option<Box<PasswordHash>> {
    let hash = PasswordHash::new(text).ok()?;
    (hash.salt.is_some() && hash.hash.is_some()).then(|| Box::new(hash))
}

#[cfg(test)]
mod tests;
