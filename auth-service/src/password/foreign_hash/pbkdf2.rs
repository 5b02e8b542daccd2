//! Parses and checks PBKDF2 hashes with HMAC-SHA-256 or HMAC-SHA-512, in the formats of Django and passlib.

use crate::password::rejection::HashRejection;
use base64::{
    Engine as _,
    alphabet::Alphabet,
    engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD},
};
use pbkdf2::pbkdf2_hmac;
use sha2::{Sha256, Sha512};
use subtle::ConstantTimeEq;

/// The base64 of passlib, which has `.` instead of `+`, and no padding.
const PASSLIB_BASE64: Option<GeneralPurpose> =
    match Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./") {
        Ok(alphabet) => Some(GeneralPurpose::new(&alphabet, NO_PAD)),
        Err(_) => None,
    };

/// The allowed sizes of a digest, in bytes: from half the size of SHA-256 to the maximum in a PHC string.
const DIGEST_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

const MALFORMED: HashRejection = HashRejection::Malformed("PBKDF2");

/// A pseudorandom function on which PBKDF2 is based.
pub(super) struct Prf {
    /// The prefix of a hash in the format of passlib.
    prefix: &'static str,
    /// The size of the function's output, in bytes.
    block_bytes: usize,
    /// The estimated number of iterations in the time of one bcrypt iteration. The actual number is lower on
    /// processors without instructions for the hash function, and most have none for SHA-512.
    pub(super) iterations_per_bcrypt_iteration: u64,
    /// OWASP's minimum number of iterations.
    pub(super) min_iterations: u64,
    compute: fn(&[u8], &[u8], u32, &mut [u8]),
}

pub(super) static SHA256: Prf = Prf {
    prefix: "$pbkdf2-sha256$",
    block_bytes: 32,
    iterations_per_bcrypt_iteration: 12,
    min_iterations: 600_000,
    compute: pbkdf2_hmac::<Sha256>,
};
pub(super) static SHA512: Prf = Prf {
    prefix: "$pbkdf2-sha512$",
    block_bytes: 64,
    iterations_per_bcrypt_iteration: 4,
    min_iterations: 220_000,
    compute: pbkdf2_hmac::<Sha512>,
};

/// A parsed PBKDF2 hash.
pub(super) struct Pbkdf2 {
    pub(super) prf: &'static Prf,
    /// The number of iterations, at least 1.
    pub(super) iterations: u32,
    salt: Vec<u8>,
    digest: Vec<u8>,
}

impl Pbkdf2 {
    /// Parses a hash. Returns `None` for a hash in another format.
    ///
    /// Django writes `pbkdf2_sha256$ITERATIONS$SALT$DIGEST`, with the salt as text. Passlib writes
    /// `$pbkdf2-sha256$ITERATIONS$SALT$DIGEST`, or the same with `sha512`.
    pub(super) fn parse(text: &str) -> Option<Result<Self, HashRejection>> {
        let parsed = if let Some(parts) = text.strip_prefix("pbkdf2_sha256$") {
            let decode_salt = |text: &str| Some(text.into());
            let decode_digest = |text: &str| STANDARD.decode(text).ok();
            Self::parse_parts(&SHA256, parts, decode_salt, decode_digest)
        } else {
            let prf = [&SHA256, &SHA512]
                .into_iter()
                .find(|prf| text.starts_with(prf.prefix))?;
            let parts = &text[prf.prefix.len()..];
            let decode = |text: &str| PASSLIB_BASE64?.decode(text).ok();
            Self::parse_parts(prf, parts, decode, decode)
        };
        Some(parsed.ok_or(MALFORMED))
    }

    /// Parses `ITERATIONS$SALT$DIGEST`.
    fn parse_parts(
        prf: &'static Prf,
        text: &str,
        decode_salt: impl Fn(&str) -> Option<Vec<u8>>,
        decode_digest: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let [iterations, salt, digest] = split(text, '$')?;
        // The digits are checked because `parse` would also accept a sign.
        let is_decimal = iterations.bytes().all(|byte| byte.is_ascii_digit());
        let iterations = iterations.parse().ok()?;
        let digest = decode_digest(digest)?;
        if !is_decimal || iterations == 0 || !DIGEST_BYTES.contains(&digest.len()) {
            return None;
        }
        Some(Self {
            prf,
            iterations,
            salt: decode_salt(salt)?,
            digest,
        })
    }

    /// Formats a hash as passlib writes it.
    pub(super) fn format(
        prf: &Prf,
        iterations: &str,
        salt: &[u8],
        digest: &[u8],
    ) -> Option<String> {
        let base64 = PASSLIB_BASE64?;
        let prefix = prf.prefix;
        let salt = base64.encode(salt);
        let digest = base64.encode(digest);
        Some(format!("{prefix}{iterations}${salt}${digest}"))
    }

    /// Returns how many outputs of the pseudorandom function make up the digest. Each output takes all
    /// iterations.
    pub(super) fn blocks(&self) -> u64 {
        self.digest.len().div_ceil(self.prf.block_bytes) as u64
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let mut digest = vec![0; self.digest.len()];
        (self.prf.compute)(password, &self.salt, self.iterations, &mut digest);
        digest.ct_eq(&self.digest).into()
    }
}

/// Splits a text into exactly this many parts.
pub(super) fn split<const N: usize>(text: &str, separator: char) -> Option<[&str; N]> {
    let parts: Vec<&str> = text.split(separator).collect();
    parts.try_into().ok()
}
