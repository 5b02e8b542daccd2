//! PBKDF2 with HMAC-SHA-256, in the forms of Django and passlib.

use super::ForeignHashError;
use base64::{
    Engine as _,
    alphabet::Alphabet,
    engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD},
};
use pbkdf2::pbkdf2_hmac_array;
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// Passlib writes base64 with `.` instead of `+`, without padding.
const PASSLIB_BASE64: Option<GeneralPurpose> =
    match Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./") {
        Ok(alphabet) => Some(GeneralPurpose::new(&alphabet, NO_PAD)),
        Err(_) => None,
    };

const MALFORMED: ForeignHashError = ForeignHashError::Malformed("PBKDF2-SHA256");

/// A parsed hash.
pub(super) struct Pbkdf2Sha256 {
    /// At least 1.
    pub(super) iterations: u32,
    salt: Vec<u8>,
    digest: [u8; 32],
}

impl Pbkdf2Sha256 {
    /// `None` for other formats. Django: `pbkdf2_sha256$ITERATIONS$SALT$DIGEST` with the salt as text. Passlib:
    /// `$pbkdf2-sha256$ITERATIONS$SALT$DIGEST`.
    pub(super) fn parse(text: &str) -> Option<Result<Self, ForeignHashError>> {
        if let Some(rest) = text.strip_prefix("pbkdf2_sha256$") {
            let digest = |digest: &str| STANDARD.decode(digest).ok();
            Some(Self::parts(rest, |salt| Some(salt.as_bytes().to_vec()), digest).ok_or(MALFORMED))
        } else {
            let rest = text.strip_prefix("$pbkdf2-sha256$")?;
            let decode = |text: &str| PASSLIB_BASE64?.decode(text).ok();
            Some(Self::parts(rest, decode, decode).ok_or(MALFORMED))
        }
    }

    fn parts(
        text: &str,
        salt: impl Fn(&str) -> Option<Vec<u8>>,
        digest: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let mut parts = text.split('$');
        let mut next = || parts.next();
        let (iterations, salt_part, digest_part) = (next()?, next()?, next()?);
        let is_decimal = iterations.bytes().all(|byte| byte.is_ascii_digit());
        let iterations = iterations.parse().ok().filter(|&number| is_decimal && number > 0)?;
        let digest = digest(digest_part)?.try_into().ok()?;
        if next().is_some() {
            return None;
        }
        Some(Self { iterations, salt: salt(salt_part)?, digest })
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let digest = pbkdf2_hmac_array::<Sha256, 32>(password, &self.salt, self.iterations);
        digest.ct_eq(&self.digest).into()
    }
}
