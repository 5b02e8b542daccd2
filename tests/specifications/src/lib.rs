//! The rules that only a rare interleaving breaks, as small state machines in which stateright visits every
//! state. Each finds the mistakes that can be planted in it.
//!
//! - [`group_commit`]: reads are linearizable, although two servers take themselves for the primary.
//! - [`tokens_not_before`]: a revoked token stays refused and a login works, although clocks step.
//! - [`sessions`]: idle, old and revoked sessions end for good, and one in use goes on at every replica.
//! - [`proof`](proof()): the figures of a test for `tests/prove`.
//! - [`history`]: what `tests/linearizability` records is replayed against the machine that these refine.

pub mod group_commit;
pub mod history;
pub mod sessions;
pub mod tokens_not_before;

#[path = "../../src/proof.rs"]
mod proof;

pub use proof::proof;

/// A specification, with one of its mistakes `M` or none.
#[derive(Clone, Copy, Debug)]
pub struct Specification<M>(pub Option<M>);

impl<M: Copy + PartialEq> Specification<M> {
    fn has(self, mistake: M) -> bool {
        self.0 == Some(mistake)
    }
}
