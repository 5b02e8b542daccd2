//! A password in the only form that the engine keeps it in.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A password, a NUL, and so on in turn up to 72 bytes, as 18 big-endian words: Blowfish's key
/// schedule reads nothing else.
///
/// This is the rule of `$2b$`: bytes after the 72nd do not count, and a password of 72 bytes has no
/// NUL.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct ExpandedPassword([u32; 18]);

impl ExpandedPassword {
    /// Takes a password of any length, the empty one included.
    pub(crate) fn new(password: &[u8]) -> Self {
        let mut bytes = password.iter().copied().chain([0]).take(72).cycle();
        Self(std::array::from_fn(|_| {
            let mut word = || u32::from(bytes.next().unwrap_or_default());
            word() << 24 | word() << 16 | word() << 8 | word()
        }))
    }

    /// The key as Blowfish wants it.
    pub(crate) fn words(&self) -> &[u32; 18] {
        &self.0
    }
}
