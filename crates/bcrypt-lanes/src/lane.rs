//! Computes one bcrypt, from password and salt to the 24 bytes of output.
//!
//! The engine keeps a password only as the key of bcrypt ([`ExpandedPassword`]), never as text.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::kernel::{self, Lane};

/// bcrypt's constant plaintext.
const TEXT: [u8; 24] = *b"OrpheanBeholderScryDoubt";

impl Lane {
    /// Starts a hash: runs `EksBlowfishSetup` up to its loop, which the kernel runs.
    pub(crate) fn start(&mut self, password: &ExpandedPassword, salt: [u8; 16]) {
        let salt = salt.as_chunks::<4>().0;
        let salt = std::array::from_fn(|i| u32::from_be_bytes(salt[i]));
        self.boxes = S_BOXES;
        self.subkeys = SUBKEYS;
        self.keys = [password.0, std::array::from_fn(|i| salt[i % 4])];
        kernel::expand(std::array::from_mut(self), 0, Some(salt));
    }

    /// Finishes a hash: encrypts the constant text 64 times, and returns the result.
    pub(crate) fn finish(&self) -> [u8; 24] {
        let mut output = TEXT;
        for block in output.as_chunks_mut::<8>().0 {
            let block_of_text = u64::from_be_bytes(*block);
            let mut left = [(block_of_text >> 32) as u32];
            let mut right = [(block_of_text & 0xffff_ffff) as u32];
            for _ in 0..64 {
                kernel::encrypt(std::array::from_ref(self), &mut left, &mut right);
            }
            *block = (u64::from(left[0]) << 32 | u64::from(right[0])).to_be_bytes();
        }
        output
    }
}

/// A password as the key of bcrypt: with a trailing NUL, repeated to 72 bytes, as 18 big-endian words.
///
/// Blowfish's key schedule reads no more than this. As `$2b$` requires, bytes after the 72nd are ignored,
/// and a password of 72 bytes or more has no NUL.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct ExpandedPassword([u32; 18]);

impl ExpandedPassword {
    /// Expands a password of any length, including the empty one.
    pub(crate) fn new(password: &[u8]) -> Self {
        let mut bytes = password.iter().copied().chain([0]).take(72).cycle();
        Self(std::array::from_fn(|_| {
            let word = std::array::from_fn(|_| bytes.next().unwrap_or_default());
            u32::from_be_bytes(word)
        }))
    }
}

/// The 18 subkeys before any key is mixed in.
const SUBKEYS: [u32; 18] = words(0);

/// The four substitution boxes, indexed by the highest to the lowest byte of a half block.
const S_BOXES: [[u32; 256]; 4] = [words(18), words(274), words(530), words(786)];

/// The initial Blowfish state in hexadecimal, 64 digits on each line. It is the first 1,042 words of the fractional
/// part of π (B. Schneier, "Description of a New Variable-Length Key, 64-Bit Block Cipher", 1993).
const DIGITS: &[u8] = include_bytes!("pi.hex");

/// Reads `N` words of [`DIGITS`], starting with word number `first`.
const fn words<const N: usize>(first: usize) -> [u32; N] {
    let mut words = [0; N];
    let mut index = 0;
    while index < 8 * N {
        let digit = 8 * first + index;
        let digit = (DIGITS[digit + digit / 64] as char)
            .to_digit(16)
            .expect("a digit");
        words[index / 8] = words[index / 8] << 4 | digit;
        index += 1;
    }
    words
}
