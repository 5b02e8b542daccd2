//! Stands in for the kernel of the product. It computes a digest of the same inputs in a thousandth of the time, and
//! not bcrypt.

use std::cell::RefCell;
use zeroize::{Zeroize, ZeroizeOnDrop};

pub(crate) const MAX_LANES: usize = 8;

/// The first byte of a password with which [`advance`] panics.
const PANIC: u8 = 0xff;

thread_local! {
    /// The first bytes of passwords. All tasks of a schedule run on this thread.
    static BEGUN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns the first byte of each password, in the order in which their lanes first advanced.
pub fn begun() -> Vec<u8> {
    BEGUN.with_borrow(Vec::clone)
}

/// Empties the list of [`begun`].
pub fn forget_begun() {
    BEGUN.with_borrow_mut(Vec::clear);
}

#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Lane {
    pub(crate) boxes: [[u32; 256]; 4],
    pub(crate) subkeys: [u32; 18],
    pub(crate) keys: [[u32; 18]; 2],
}

impl Lane {
    pub(crate) const BLANK: Self =
        Self { boxes: [[0; 256]; 4], subkeys: [0; 18], keys: [[0; 18]; 2] };
}

pub(crate) fn advance(lanes: &mut [Lane], iterations: u32) {
    assert!(lanes.len() <= MAX_LANES, "{} lanes", lanes.len());
    for lane in lanes {
        let [first, ..] = lane.keys[0][0].to_be_bytes();
        assert!(first != PANIC, "as the scenario intends");
        BEGUN.with_borrow_mut(|begun| {
            if !begun.contains(&first) {
                begun.push(first);
            }
        });
        for _ in 0..iterations {
            expand(std::array::from_mut(lane), 0, None);
        }
    }
}

pub(crate) fn expand<const N: usize>(lanes: &mut [Lane; N], key: usize, salt: Option<[u32; 4]>) {
    for lane in lanes {
        for (n, subkey) in lane.subkeys.iter_mut().enumerate() {
            *subkey = subkey.rotate_left(5) ^ lane.keys[key][n] ^ salt.map_or(1, |salt| salt[n % 4]);
        }
    }
}

pub(crate) fn encrypt<const N: usize>(lanes: &[Lane; N], left: &mut [u32; N], right: &mut [u32; N]) {
    for (n, lane) in lanes.iter().enumerate() {
        left[n] ^= lane.subkeys[0].wrapping_add(lane.subkeys[1]);
        right[n] = right[n].rotate_left(1) ^ left[n] ^ lane.subkeys[17];
    }
}
