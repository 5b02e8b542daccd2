//! PBKDF2 with HMAC-SHA-256 or HMAC-SHA-512, in the forms of Django and passlib.

use super::error::ForeignHashError;
use base64::{
    Engine as _,
    alphabet::Alphabet,
    engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD},
};
use pbkdf2::pbkdf2_hmac;
use sha2::{Sha256, Sha512};
use subtle::ConstantTimeEq;

/// Passlib writes base64 with `.` instead of `+`, without padding.
const PASSLIB_BASE64: Option<GeneralPurpose> =
    match Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./") {
        Ok(alphabet) => Some(GeneralPurpose::new(&alphabet, NO_PAD)),
        Err(_) => None,
    };

/// Bytes of a digest: what a PHC string may have, and no less than half of SHA-256.
const DIGEST_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

const MALFORMED: ForeignHashError = ForeignHashError::Malformed("PBKDF2");

/// The pseudorandom function.
#[derive(Clone, Copy)]
pub(super) enum Prf {
    Sha256,
    Sha512,
}

/// A parsed hash.
pub(super) struct Pbkdf2 {
    pub(super) prf: Prf,
    /// At least 1.
    pub(super) iterations: u32,
    salt: Vec<u8>,
    digest: Vec<u8>,
}

impl Pbkdf2 {
    /// `None` for other formats. Django: `pbkdf2_sha256$ITERATIONS$SALT$DIGEST` with the salt as text.
    /// Passlib: `$pbkdf2-sha256$ITERATIONS$SALT$DIGEST`, also with `sha512`.
    pub(super) fn parse(text: &str) -> Option<Result<Self, ForeignHashError>> {
        if let Some(rest) = text.strip_prefix("pbkdf2_sha256$") {
            let (salt, digest) =
                (|salt: &str| Some(salt.into()), |text: &str| STANDARD.decode(text).ok());
            return Some(Self::parts(Prf::Sha256, rest, salt, digest).ok_or(MALFORMED));
        }
        let (prf, rest) = match text.strip_prefix("$pbkdf2-sha256$") {
            Some(rest) => (Prf::Sha256, rest),
            None => (Prf::Sha512, text.strip_prefix("$pbkdf2-sha512$")?),
        };
        let decode = |text: &str| PASSLIB_BASE64?.decode(text).ok();
        Some(Self::parts(prf, rest, decode, decode).ok_or(MALFORMED))
    }

    /// The form of passlib.
    pub(super) fn format(prf: Prf, iterations: &str, salt: &[u8], digest: &[u8]) -> Option<String> {
        let name = match prf {
            Prf::Sha256 => "sha256",
            Prf::Sha512 => "sha512",
        };
        let encode = |bytes| PASSLIB_BASE64.map(|base64| base64.encode(bytes));
        Some(format!("$pbkdf2-{name}${iterations}${}${}", encode(salt)?, encode(digest)?))
    }

    fn parts(
        prf: Prf,
        text: &str,
        salt: impl Fn(&str) -> Option<Vec<u8>>,
        digest: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let mut parts = text.split('$');
        let mut next = || parts.next();
        let (iterations, salt_part, digest_part) = (next()?, next()?, next()?);
        let is_decimal = iterations.bytes().all(|byte| byte.is_ascii_digit());
        let iterations = iterations.parse().ok().filter(|&number| is_decimal && number > 0)?;
        let digest = digest(digest_part).filter(|it| DIGEST_BYTES.contains(&it.len()))?;
        if next().is_some() {
            return None;
        }
        Some(Self { prf, iterations, salt: salt(salt_part)?, digest })
    }

    /// Outputs of the pseudorandom function that make up the digest; each takes all iterations.
    pub(super) fn blocks(&self) -> u64 {
        let block: usize = match self.prf {
            Prf::Sha256 => 32,
            Prf::Sha512 => 64,
        };
        self.digest.len().div_ceil(block) as u64
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let compute: fn(&[u8], &[u8], u32, &mut [u8]) = match self.prf {
            Prf::Sha256 => pbkdf2_hmac::<Sha256>,
            Prf::Sha512 => pbkdf2_hmac::<Sha512>,
        };
        let mut digest = vec![0; self.digest.len()];
        compute(password, &self.salt, self.iterations, &mut digest);
        digest.ct_eq(&self.digest).into()
    }
}
