//! The codes that people type: one-time codes and recovery codes.

use data_encoding::BASE32_NOPAD;
use rolegate_proto::{decimal_digit, shows_nothing};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// 128 bits cannot be guessed, so a digest without a salt hides them.
pub(super) const RECOVERY_CODE_BYTES: usize = 16;
/// The characters of a recovery code in base32, without hyphens.
const RECOVERY_CODE_CHARS: usize = 26;
/// Where the groups of a recovery code end, from the last to the first: a hyphen is inserted there.
pub(super) const RECOVERY_CODE_GROUPS: [usize; 4] = [20, 15, 10, 5];
const ONE_TIME_CODE_DIGITS: usize = 6;
/// The capacity for a typed code, so that none is left in memory by growing: one character more than a recovery code has.
const MAX_TYPED_BYTES: usize = 4 * (RECOVERY_CODE_CHARS + 1);

/// A code as somebody typed it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Code {
    OneTime(u32),
    /// A recovery code, as the digest by which it is found.
    Recovery(String),
    Malformed,
}

impl Code {
    /// Reads a code; `None` if nothing was typed. Spaces, hyphens and invisible characters are for the eye, as is the
    /// case of letters. A digit of any script is that digit.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.chars().all(shows_nothing) {
            return None;
        }
        let characters = text
            .chars()
            .filter(|character| *character != '-' && !shows_nothing(*character))
            .map(normalize);
        let mut typed = Zeroizing::new(String::with_capacity(MAX_TYPED_BYTES));
        // One character more than the longest code shows that the text is too long.
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

/// Computes the digest by which a recovery code is stored and found, in hex.
pub(super) fn digest_recovery_code(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
