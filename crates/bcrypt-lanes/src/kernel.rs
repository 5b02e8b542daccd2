//! The hot loop: advances N independent Blowfish states, interleaved on one core.
//!
//! `EksBlowfish` is one long chain of dependent loads: a round takes about eleven cycles, and the
//! core spends most of these cycles waiting for the first-level cache. Independent chains fill that
//! time. There is no SIMD: the gain comes from out-of-order execution.
#![expect(
    clippy::inline_always,
    reason = "each width must compile to one function with the halves of all lanes in registers"
)]

use std::sync::atomic::{Ordering, compiler_fence};

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The maximum number of lanes in one call of [`advance`].
pub(crate) const MAX_LANES: usize = 8;

/// A Blowfish state (4 KiB) and the two keys that are mixed into it alternately.
///
/// The lanes of a worker are adjacent in one array, so that each lane is at a constant offset from one base
/// register.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Lane {
    pub(crate) boxes: [[u32; 256]; 4],
    pub(crate) subkeys: [u32; 18],
    /// The keys made from the password and from the salt. Each is repeated to 72 bytes, as big-endian words.
    pub(crate) keys: [[u32; 18]; 2],
}

impl Lane {
    pub(crate) const BLANK: Self = Self {
        boxes: [[0; 256]; 4],
        subkeys: [0; 18],
        keys: [[0; 18]; 2],
    };
}

/// Advances every lane by `iterations` of bcrypt's loop. An iteration expands the state with the password,
/// then with the salt; a hash of cost c takes 2^c iterations.
///
/// # Panics
///
/// Panics if there are more than [`MAX_LANES`] lanes.
pub(crate) fn advance(lanes: &mut [Lane], iterations: u32) {
    match lanes.len() {
        0 => {}
        1 => step::<1>(lanes, iterations),
        2 => step::<2>(lanes, iterations),
        3 => step::<3>(lanes, iterations),
        4 => step::<4>(lanes, iterations),
        5 => step::<5>(lanes, iterations),
        6 => step::<6>(lanes, iterations),
        7 => step::<7>(lanes, iterations),
        8 => step::<8>(lanes, iterations),
        width => panic!("{width} lanes exceed the maximum of {MAX_LANES}"),
    }
}

#[inline(never)]
fn step<const N: usize>(lanes: &mut [Lane], iterations: u32) {
    let Some(lanes) = lanes.first_chunk_mut::<N>() else {
        return;
    };
    for _ in 0..iterations {
        for key in 0..2 {
            expand(lanes, key, None);
        }
    }
}

/// Runs `ExpandKey` in every lane. It mixes key number `key` into the subkeys, then replaces subkeys and
/// boxes, two words at a time, by the chained encryption of zero.
///
/// Only the very first expansion of a lane has a `salt`, which is xored into the chain as well.
#[inline(always)]
pub(crate) fn expand<const N: usize>(lanes: &mut [Lane; N], key: usize, salt: Option<[u32; 4]>) {
    for lane in lanes.iter_mut() {
        for (subkey, word) in lane.subkeys.iter_mut().zip(lane.keys[key]) {
            *subkey ^= word;
        }
    }
    let (mut left, mut right) = ([0; N], [0; N]);
    for pair in 0..9 {
        if let Some(salt) = salt {
            mix(&mut left, &mut right, salt, pair);
        }
        encrypt(lanes, &mut left, &mut right);
        for n in 0..N {
            lanes[n].subkeys[2 * pair] = left[n];
            lanes[n].subkeys[2 * pair + 1] = right[n];
        }
    }
    for table in 0..4 {
        for pair in 0..128 {
            if let Some(salt) = salt {
                // The subkeys took nine pairs, an odd number, so the boxes begin with the other half of the salt.
                mix(&mut left, &mut right, salt, pair + 1);
            }
            encrypt(lanes, &mut left, &mut right);
            for n in 0..N {
                lanes[n].boxes[table][2 * pair] = left[n];
                lanes[n].boxes[table][2 * pair + 1] = right[n];
            }
        }
    }
}

#[inline(always)]
fn mix<const N: usize>(left: &mut [u32; N], right: &mut [u32; N], salt: [u32; 4], pair: usize) {
    for n in 0..N {
        left[n] ^= salt[pair % 2 * 2];
        right[n] ^= salt[pair % 2 * 2 + 1];
    }
}

/// Encrypts one block in every lane.
///
/// The rounds are unrolled by hand, because a loop would move registers in every iteration, which costs
/// about 8 % with six lanes.
#[inline(always)]
pub(crate) fn encrypt<const N: usize>(
    lanes: &[Lane; N],
    left: &mut [u32; N],
    right: &mut [u32; N],
) {
    for n in 0..N {
        left[n] ^= lanes[n].subkeys[0];
    }
    two_rounds::<N, 1>(lanes, left, right);
    two_rounds::<N, 3>(lanes, left, right);
    two_rounds::<N, 5>(lanes, left, right);
    two_rounds::<N, 7>(lanes, left, right);
    two_rounds::<N, 9>(lanes, left, right);
    two_rounds::<N, 11>(lanes, left, right);
    two_rounds::<N, 13>(lanes, left, right);
    two_rounds::<N, 15>(lanes, left, right);
    for n in 0..N {
        right[n] ^= lanes[n].subkeys[17];
    }
    std::mem::swap(left, right);
}

#[inline(always)]
fn two_rounds<const N: usize, const SUBKEY: usize>(
    lanes: &[Lane; N],
    left: &mut [u32; N],
    right: &mut [u32; N],
) {
    for n in 0..N {
        right[n] ^= lanes[n].subkeys[SUBKEY];
        right[n] ^= scramble(&lanes[n].boxes, left[n]);
        keep_order();
    }
    for n in 0..N {
        left[n] ^= lanes[n].subkeys[SUBKEY + 1];
        left[n] ^= scramble(&lanes[n].boxes, right[n]);
        keep_order();
    }
}

/// Computes Blowfish's function F. A masked index needs no bounds check. The upper bytes are read from a
/// byte-swapped copy, because x86 accesses the two low bytes of a register without a shift.
#[inline(always)]
fn scramble(boxes: &[[u32; 256]; 4], half: u32) -> u32 {
    let swapped = half.swap_bytes();
    let a = boxes[0][(swapped & 0xff) as usize];
    let b = boxes[1][(swapped >> 8 & 0xff) as usize];
    let c = boxes[2][(half >> 8 & 0xff) as usize];
    let d = boxes[3][(half & 0xff) as usize];
    (a.wrapping_add(b) ^ c).wrapping_add(d)
}

/// Keeps the compiler from moving loads of one lane after the loads of the next lane. The function
/// compiles to no instruction.
///
/// Otherwise, LLVM interleaves the lanes until it runs out of registers, which costs 10 %. If AVX2
/// or AVX-512 is enabled, LLVM uses gather instructions, which costs 60 %.
#[inline(always)]
fn keep_order() {
    compiler_fence(Ordering::SeqCst);
}
