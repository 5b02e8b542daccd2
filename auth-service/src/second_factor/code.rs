//! Parses the codes that people type: one-time codes and recovery codes.

use data_encoding::BASE32_NOPAD;
use rolegate_proto::{decimal_digit, shows_nothing};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The number of random bytes in a recovery code. 128 bits cannot be guessed, so a digest without a salt is
/// enough to protect a stored code.
pub(super) const RECOVERY_CODE_BYTES: usize = 16;
/// The number of characters of a recovery code in base32, without hyphens.
const RECOVERY_CODE_CHARS: usize = 26;
/// The positions at which the groups of a recovery code end, from the last to the first. A hyphen is inserted
/// at each.
pub(super) const RECOVERY_CODE_GROUPS: [usize; 4] = [20, 15, 10, 5];
const ONE_TIME_CODE_DIGITS: usize = 6;
/// The capacity in bytes of the buffer for a typed code: one character more than a recovery code has. The buffer
/// never grows, because growing would leave a copy of the code in memory.
const MAX_TYPED_BYTES: usize = 4 * (RECOVERY_CODE_CHARS + 1);

/// A code as a user typed it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Code {
    OneTime(u32),
    /// The digest by which a recovery code is found.
    Recovery(String),
    Malformed,
}

impl Code {
    /// Parses a code that a user typed. Returns `None` if the text shows no character.
    ///
    /// Spaces, hyphens, invisible characters and the case of letters do not count. A decimal digit of any
    /// script counts as that digit.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.chars().all(shows_nothing) {
            return None;
        }
        let characters = text
            .chars()
            .filter(|character| *character != '-' && !shows_nothing(*character))
            .map(normalize);
        let mut typed = Zeroizing::new(String::with_capacity(MAX_TYPED_BYTES));
        // Taking one character more than the longest code shows whether the text is too long.
        typed.extend(characters.take(RECOVERY_CODE_CHARS + 1));
        Some(Self::parse_normalized(&typed))
    }

    fn parse_normalized(typed: &str) -> Self {
        let is_decimal = typed.bytes().all(|byte| byte.is_ascii_digit());
        if typed.len() == ONE_TIME_CODE_DIGITS && is_decimal {
            return typed.parse().map_or(Self::Malformed, Self::OneTime);
        }
        let decoded = BASE32_NOPAD.decode(typed.as_bytes()).map(Zeroizing::new);
        match decoded {
            Ok(bytes) if bytes.len() == RECOVERY_CODE_BYTES => {
                Self::Recovery(digest_recovery_code(&bytes))
            }
            _ => Self::Malformed,
        }
    }
}

fn normalize(character: char) -> char {
    match decimal_digit(character) {
        Some(digit) => char::from_digit(digit, 10).unwrap_or(character),
        None => character.to_ascii_uppercase(),
    }
}

/// Computes the digest, in hex, by which a recovery code is stored and found.
pub(super) fn digest_recovery_code(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
