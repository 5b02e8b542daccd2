//! Choices that depend on the seed only.

use rand::{Rng, SeedableRng as _, rngs::StdRng};
use std::time::Duration;
use tokio::time::sleep;

/// The dice of a client, which depend on the seed and on nothing that happens.
pub(crate) fn dice(seed: u64, client: u64) -> StdRng {
    StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9).wrapping_add(client))
}

pub(crate) fn below(dice: &mut StdRng, bound: u64) -> u64 {
    dice.next_u64() % bound
}

/// One of these, each as likely as another.
pub(crate) fn pick<T: Copy>(dice: &mut StdRng, from: &[T]) -> T {
    from[usize::try_from(below(dice, from.len() as u64)).unwrap_or(0)]
}

/// Waits up to so many milliseconds.
pub(crate) async fn pause(dice: &mut StdRng, millis: u64) {
    sleep(Duration::from_millis(below(dice, millis))).await;
}
