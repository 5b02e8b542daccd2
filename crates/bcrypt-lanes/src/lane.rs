//! One bcrypt computation: from password and salt to the 24 bytes of output. The engine keeps a password
//! only as the key of bcrypt.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::kernel::{self, Lane};
use crate::pi;

/// bcrypt's constant plaintext.
const TEXT: [u8; 24] = *b"OrpheanBeholderScryDoubt";

impl Lane {
    /// Starts a hash: `EksBlowfishSetup` up to its loop.
    pub(crate) fn start(&mut self, password: &ExpandedPassword, salt: [u8; 16]) {
        let salt = salt.as_chunks::<4>().0;
        let salt = std::array::from_fn(|i| u32::from_be_bytes(salt[i]));
        self.boxes = pi::S_BOXES;
        self.subkeys = pi::SUBKEYS;
        self.keys = [password.0, std::array::from_fn(|i| salt[i % 4])];
        kernel::expand(std::array::from_mut(self), 0, Some(salt));
    }

    /// Finishes a hash: encrypts the constant text 64 times.
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
}
