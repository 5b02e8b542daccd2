//! Specifications of the rules that only a rare interleaving of steps breaks.
//!
//! Each is a small state machine in which stateright visits every state. Each has mistakes that can
//! be planted into it, and the tests show that the properties find every one.
//!
//! - [`group_commit`]: reads are linearizable, although two servers take themselves for the
//!   primary.
//! - [`tokens_not_before`]: a revoked token stays refused and a login works, although clocks step.
//! - [`sessions`]: idle, old and revoked sessions end for good, and a session in use stays valid at
//!   every replica.
//! - [`history`]: replays what `tests/linearizability` records against the model that
//!   `group_commit` refines.
//! - [`proof`](proof()): prints the figures of a test for `tests/prove`.

pub mod group_commit;
pub mod history;
pub mod sessions;
pub mod tokens_not_before;

#[path = "../../src/proof.rs"]
mod proof;

pub use proof::proof;

/// A specification with one planted mistake `M`, or with none.
#[derive(Clone, Copy, Debug)]
pub struct Specification<M>(pub Option<M>);

impl<M: Copy + PartialEq> Specification<M> {
    fn has(self, mistake: M) -> bool {
        self.0 == Some(mistake)
    }
}
