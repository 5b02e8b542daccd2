//! Results of the engine.

use std::time::Duration;

/// A result with its timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed<T> {
    /// The result.
    pub value: T,
    /// From submission until the job entered a lane.
    pub waited: Duration,
    /// From entering the lane until completion.
    pub ran: Duration,
}

/// The result of verifying a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The password matches.
    Match {
        /// The stored cost differs from the current one: the password should be hashed again.
        rehash: bool,
    },
    /// The password does not match, or there is no stored hash.
    Mismatch,
    /// The stored value is not a bcrypt hash. Treat as a mismatch, and log it.
    Malformed,
}

impl Verdict {
    /// Whether the password matches.
    #[must_use]
    pub const fn is_match(self) -> bool {
        matches!(self, Self::Match { .. })
    }
}
