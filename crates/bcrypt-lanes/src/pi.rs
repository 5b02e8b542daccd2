//! The initial Blowfish state: the first 1,042 words of the fractional part of π, big-endian.
//!
//! Source: B. Schneier, "Description of a New Variable-Length Key, 64-Bit Block Cipher", 1993.

/// The 18 subkeys before any key is mixed in.
pub(crate) const SUBKEYS: [u32; 18] = words(0);

/// The four substitution boxes, indexed by the highest to the lowest byte of a half block.
pub(crate) const S_BOXES: [[u32; 256]; 4] = [words(18), words(274), words(530), words(786)];

/// The fractional part of π in hexadecimal, 64 digits on each line.
const DIGITS: &[u8] = include_bytes!("pi.hex");

/// The words from this one on.
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
