//! One-time codes as authenticator applications compute them (RFC 6238), implemented without code
//! of the programs.

use crate::token::now;
use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;

/// How many seconds a code is shown.
pub const STEP: u64 = 30;

/// The secret of a second factor, which computes its codes.
#[derive(Clone, Debug)]
pub struct Totp(Vec<u8>);

impl Totp {
    /// Decodes a secret from base32.
    ///
    /// # Panics
    ///
    /// Panics if the text is not base32 without padding.
    #[must_use]
    pub fn of(base32: &str) -> Self {
        Self(BASE32_NOPAD.decode(base32.as_bytes()).expect("base32"))
    }

    /// Returns the bytes of the secret.
    #[must_use]
    pub fn secret(&self) -> &[u8] {
        &self.0
    }

    /// Returns the code at this time, in Unix seconds.
    ///
    /// # Panics
    ///
    /// Never panics: HMAC accepts keys of any length.
    #[must_use]
    pub fn at(&self, time: u64) -> String {
        let mac = Hmac::<Sha1>::new_from_slice(&self.0).expect("a key");
        let digest = mac
            .chain_update((time / STEP).to_be_bytes())
            .finalize()
            .into_bytes();
        let offset = usize::from(digest[19] & 15);
        let [a, b, c, d] = [0, 1, 2, 3].map(|index| digest[offset + index]);
        format!("{:06}", u32::from_be_bytes([a & 127, b, c, d]) % 1_000_000)
    }

    /// Returns a code that was not valid within the last hour and will not be within the next.
    ///
    /// # Panics
    ///
    /// Never panics: there are more codes than steps in these hours.
    #[must_use]
    pub fn wrong(&self) -> String {
        let time = now();
        let near: Vec<_> = (0..240)
            .map(|step| self.at(time - 3600 + step * STEP))
            .collect();
        let mut codes = (0..1_000_000).map(|code| format!("{code:06}"));
        codes
            .find(|code| !near.contains(code))
            .expect("another one")
    }
}

#[cfg(test)]
mod tests {
    use super::Totp;

    #[test]
    fn codes_are_those_of_appendix_b() {
        // The secret is "12345678901234567890". The RFC shows eight digits, and these are the last
        // six.
        let totp = Totp::of("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        for (time, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(totp.at(time), code, "at {time}");
        }
    }
}
