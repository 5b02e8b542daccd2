//! Why there is no answer.

use std::time::Duration;

/// Why a hash or a check was not done. None of them says anything about the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// It could not be done before its deadline, or others of a larger share would have to wait
    /// for it. Nothing was computed.
    #[error("too many passwords are waiting, try again in {retry_after:?}")]
    Refused {
        /// When the same request would be accepted, if no others come. At least a millisecond.
        retry_after: Duration,
    },
    /// Its deadline passed while it waited or was computed.
    #[error("the deadline passed before the password was checked")]
    DeadlinePassed,
    /// The worker that computed it panicked, or the engine was dropped.
    #[error("the password engine lost the job")]
    Lost,
    /// The operating system gave no randomness for a salt.
    #[error("no randomness for a salt")]
    Random(#[source] getrandom::Error),
}
