//! Errors of the engine.

use std::time::Duration;

/// Why a job was not computed. No variant says anything about the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// Refused at admission because it would miss its deadline or the queue is full. Nothing was
    /// computed.
    #[error("too many passwords are waiting, try again in {retry_after:?}")]
    Refused {
        /// When the same request would be admitted if no others arrive. At least one millisecond.
        retry_after: Duration,
        /// Whether a client without jobs would be refused as well, not only one with as many jobs here
        /// as this one.
        is_full: bool,
    },
    /// The deadline passed while the job was queued or computed.
    #[error("the deadline passed before the password was checked")]
    DeadlinePassed,
    /// The worker panicked, or the engine was dropped.
    #[error("the password engine lost the job")]
    Lost,
    /// The operating system provided no random bytes for a salt.
    #[error("no randomness for a salt")]
    Random(#[source] getrandom::Error),
}
