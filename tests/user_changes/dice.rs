//! Random choices that a seed repeats.

use std::{
    env,
    hash::{BuildHasher as _, RandomState},
};

/// A generator of random numbers, by `SplitMix64`.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Takes the seed from `USER_CHANGES_SEED`, or else at random. Prints it, so that the choices
    /// of a failed run can be repeated.
    pub(crate) fn from_environment() -> Self {
        let seed = env::var("USER_CHANGES_SEED").map_or_else(
            |_| RandomState::new().hash_one("a seed"),
            |text| text.parse().expect("USER_CHANGES_SEED is a number"),
        );
        crate::print(&format!("USER_CHANGES_SEED={seed}"));
        Self(seed)
    }

    /// Returns other dice, whose choices also follow from the seed.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).expect("64 bits")).expect("below end")
    }

    pub(crate) fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
