//! Random choices that depend only on the seed.

use rand::{Rng, SeedableRng as _, rngs::StdRng};
use std::time::Duration;
use tokio::time::sleep;

/// Returns the random numbers of a client. They depend on the seed and the client's number, not on what happens in the
/// run.
pub(crate) fn dice(seed: u64, client: u64) -> StdRng {
    StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9).wrapping_add(client))
}

pub(crate) fn below(dice: &mut StdRng, bound: u64) -> u64 {
    dice.next_u64() % bound
}

/// Returns one of these values, each with the same probability.
pub(crate) fn pick<T: Copy>(dice: &mut StdRng, from: &[T]) -> T {
    from[usize::try_from(below(dice, from.len() as u64)).unwrap_or(0)]
}

/// Waits for a random time of less than `millis` milliseconds.
pub(crate) async fn pause(dice: &mut StdRng, millis: u64) {
    sleep(Duration::from_millis(below(dice, millis))).await;
}
