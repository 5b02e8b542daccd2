//! A password as the key of bcrypt, the only form in which the engine keeps it.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The password with a trailing NUL, repeated to 72 bytes, as 18 big-endian words: all that
/// Blowfish's key schedule reads.
///
/// As in `$2b$`, bytes after the 72nd are ignored, and a password of 72 bytes has no NUL.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct ExpandedPassword([u32; 18]);

impl ExpandedPassword {
    /// Expands a password of any length, including the empty one.
    pub(crate) fn new(password: &[u8]) -> Self {
        let mut bytes = password.iter().copied().chain([0]).take(72).cycle();
        Self(std::array::from_fn(|_| {
            let mut word = || u32::from(bytes.next().unwrap_or_default());
            word() << 24 | word() << 16 | word() << 8 | word()
        }))
    }

    /// The key words.
    pub(crate) fn words(&self) -> &[u32; 18] {
        &self.0
    }
}
