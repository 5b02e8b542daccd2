//! What comes out of the engine.

use std::time::Duration;

/// A result, and how long it took to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done<T> {
    /// What was asked for.
    pub value: T,
    /// From the call until a lane was free.
    pub waited: Duration,
    /// From then until the result.
    pub ran: Duration,
}

/// What a check of a password found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the password.
    Match {
        /// The stored cost is not today's: now is the time to hash the password anew.
        rehash: bool,
    },
    /// It is not the password, or there is none.
    Mismatch,
    /// What is stored is no bcrypt hash: as wrong as a mismatch, and worth a line in the log.
    Malformed,
}

impl Verdict {
    /// Whether the password is right.
    #[must_use]
    pub const fn is_match(self) -> bool {
        matches!(self, Self::Match { .. })
    }
}
