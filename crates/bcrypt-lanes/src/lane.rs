//! One bcrypt under way: from salt and password to the 24 bytes that come out.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::kernel;
use crate::password::ExpandedPassword;
use crate::pi;

/// The words of bcrypt's constant text.
const TEXT: [u8; 24] = *b"OrpheanBeholderScryDoubt";

/// A Blowfish state (4 KiB) and the two keys that are mixed into it in turn.
///
/// Lanes lie side by side in one array, so that all of them are at constant offsets from one base
/// register.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Lane {
    pub(crate) boxes: [[u32; 256]; 4],
    pub(crate) subkeys: [u32; 18],
    /// The password, then the salt, each repeated to 72 bytes, as big-endian words.
    pub(crate) keys: [[u32; 18]; 2],
}

impl Lane {
    /// A lane with nothing in it.
    pub(crate) const BLANK: Self =
        Self { boxes: [[0; 256]; 4], subkeys: [0; 18], keys: [[0; 18]; 2] };

    /// Begins a hash: `EksBlowfishSetup` up to its loop.
    pub(crate) fn start(&mut self, password: &ExpandedPassword, salt: [u8; 16]) {
        let salt = salt.as_chunks::<4>().0;
        let salt = std::array::from_fn(|i| u32::from_be_bytes(salt[i]));
        self.boxes = pi::S_BOXES;
        self.subkeys = pi::SUBKEYS;
        self.keys = [*password.words(), std::array::from_fn(|i| salt[i % 4])];
        kernel::expand(std::array::from_mut(self), 0, Some(salt));
    }

    /// Ends a hash: the constant text, encrypted 64 times.
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
