//! The hot loop: N independent Blowfish states, advanced side by side on one core.
//!
//! `EksBlowfish` is one long chain of dependent loads: a round takes some eleven cycles, most of
//! them spent waiting for the first-level cache. Chains that do not depend on each other fill that
//! time. Nothing here is SIMD: the gain is what the core can overlap.
#![expect(
    clippy::inline_always,
    reason = "one width has to become one function, with the halves of all lanes in registers"
)]

use std::sync::atomic::{Ordering, compiler_fence};

use crate::lane::Lane;

/// The most lanes that one call of [`advance`] takes.
pub(crate) const WIDEST: usize = 8;

/// Advances every lane by `iterations` of bcrypt's loop: expand with the password, then the salt.
/// A hash of cost c takes 2^c of them.
///
/// # Panics
///
/// With more than [`WIDEST`] lanes.
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
        width => panic!("{width} lanes at once, but the widest kernel has {WIDEST}"),
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

/// `ExpandKey`: mixes key number `key` into the subkeys, then replaces subkeys and boxes, two words
/// at a time, by the chained encryption of zero. The very first expansion of a lane xors a `salt`
/// into the chain as well.
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
                // The subkeys took nine pairs, an odd number: the boxes begin with the other half.
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
/// The rounds are written out: a loop would shuffle registers at every turn, which costs some 8 %
/// with six lanes.
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

/// Blowfish's F. A masked index needs no bounds check; the upper bytes come from a swapped copy
/// because x86 reads the two low bytes of a register without shifting.
#[inline(always)]
fn scramble(boxes: &[[u32; 256]; 4], half: u32) -> u32 {
    let swapped = half.swap_bytes();
    let a = boxes[0][(swapped & 0xff) as usize];
    let b = boxes[1][(swapped >> 8 & 0xff) as usize];
    let c = boxes[2][(half >> 8 & 0xff) as usize];
    let d = boxes[3][(half & 0xff) as usize];
    (a.wrapping_add(b) ^ c).wrapping_add(d)
}

/// Keeps the loads of one lane before those of the next. It compiles to no instruction.
///
/// Left alone, LLVM's scheduler mixes the lanes until it runs out of registers, which costs 10 %;
/// with AVX2 or AVX-512 enabled it turns the loads into gathers, which costs 60 %.
#[inline(always)]
fn keep_order() {
    compiler_fence(Ordering::SeqCst);
}
