//! PBKDF2 with HMAC-SHA-256 or HMAC-SHA-512, in the forms of Django and passlib.

use super::super::rejection::HashRejection;
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

const MALFORMED: HashRejection = HashRejection::Malformed("PBKDF2");

pub(super) struct Prf {
    /// Before a hash in the form of passlib.
    prefix: &'static str,
    /// Of its output.
    block_bytes: usize,
    /// Iterations in the time of one of bcrypt (fewer where the processor has no instructions for SHA-256;
    /// for SHA-512 most have none).
    pub(super) at_once: u64,
    /// OWASP's iterations.
    pub(super) least: u64,
    compute: fn(&[u8], &[u8], u32, &mut [u8]),
}

pub(super) static SHA256: Prf = Prf {
    prefix: "$pbkdf2-sha256$",
    block_bytes: 32,
    at_once: 12,
    least: 600_000,
    compute: pbkdf2_hmac::<Sha256>,
};
pub(super) static SHA512: Prf = Prf {
    prefix: "$pbkdf2-sha512$",
    block_bytes: 64,
    at_once: 4,
    least: 220_000,
    compute: pbkdf2_hmac::<Sha512>,
};

pub(super) struct Pbkdf2 {
    pub(super) prf: &'static Prf,
    /// At least 1.
    pub(super) iterations: u32,
    salt: Vec<u8>,
    digest: Vec<u8>,
}

impl Pbkdf2 {
    /// `None` for other formats. Django: `pbkdf2_sha256$ITERATIONS$SALT$DIGEST` with the salt as text.
    /// Passlib: `$pbkdf2-sha256$ITERATIONS$SALT$DIGEST`, also with `sha512`.
    pub(super) fn parse(text: &str) -> Option<Result<Self, HashRejection>> {
        let passlib = |text: &str| PASSLIB_BASE64?.decode(text).ok();
        let parsed = if let Some(rest) = text.strip_prefix("pbkdf2_sha256$") {
            Self::parts(
                &SHA256,
                rest,
                |salt| Some(salt.into()),
                |text| STANDARD.decode(text).ok(),
            )
        } else {
            let prf = [&SHA256, &SHA512]
                .into_iter()
                .find(|prf| text.starts_with(prf.prefix))?;
            Self::parts(prf, &text[prf.prefix.len()..], passlib, passlib)
        };
        Some(parsed.ok_or(MALFORMED))
    }

    /// The form of passlib.
    pub(super) fn format(
        prf: &Prf,
        iterations: &str,
        salt: &[u8],
        digest: &[u8],
    ) -> Option<String> {
        let encode = |bytes| PASSLIB_BASE64.map(|base64| base64.encode(bytes));
        Some(format!(
            "{}{iterations}${}${}",
            prf.prefix,
            encode(salt)?,
            encode(digest)?
        ))
    }

    fn parts(
        prf: &'static Prf,
        text: &str,
        salt: impl Fn(&str) -> Option<Vec<u8>>,
        digest: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let [iterations, salt_part, digest_part] =
            text.split('$').collect::<Vec<_>>().try_into().ok()?;
        let is_decimal = iterations.bytes().all(|byte| byte.is_ascii_digit());
        let iterations = iterations
            .parse()
            .ok()
            .filter(|&number| is_decimal && number > 0)?;
        let digest = digest(digest_part).filter(|it| DIGEST_BYTES.contains(&it.len()))?;
        Some(Self {
            prf,
            iterations,
            salt: salt(salt_part)?,
            digest,
        })
    }

    /// Outputs of the pseudorandom function that make up the digest; each takes all iterations.
    pub(super) fn blocks(&self) -> u64 {
        self.digest.len().div_ceil(self.prf.block_bytes) as u64
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let mut digest = vec![0; self.digest.len()];
        (self.prf.compute)(password, &self.salt, self.iterations, &mut digest);
        digest.ct_eq(&self.digest).into()
    }
}
