//! The results, errors and statistics of the engine.

use std::time::Duration;

/// A result with its timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed<T> {
    /// The result, such as a verdict.
    pub value: T,
    /// The time from submission until the job entered a lane.
    pub waited: Duration,
    /// The time from entering the lane until completion.
    pub ran: Duration,
}

/// The result of verifying a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The password matches.
    Match {
        /// True if the stored cost differs from the current one, so that the password should be hashed again.
        rehash: bool,
    },
    /// The password does not match, or there is no stored hash.
    Mismatch,
    /// The stored value is not a bcrypt hash. The caller should treat it as a mismatch, and log it.
    Malformed,
}

impl Verdict {
    /// Returns `true` if the password matches.
    pub const fn is_match(self) -> bool {
        matches!(self, Self::Match { .. })
    }
}

/// The reason why a job has no result. No variant says anything about the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The job was refused at admission, because it would miss its deadline or the queue is full. Nothing
    /// was computed.
    #[error("too many passwords are waiting, try again in {retry_after:?}")]
    Refused {
        /// The estimated time after which the same request would be admitted if no others arrive. It is at
        /// least one millisecond.
        retry_after: Duration,
    },
    /// The deadline has passed while the job was queued or computed, or would have passed before the job was
    /// finished.
    #[error("the deadline passed before the password was checked")]
    DeadlinePassed,
    /// The worker panicked, or the engine was dropped.
    #[error("the password engine lost the job")]
    Lost,
    /// The operating system provided no random bytes for a salt.
    #[error("no randomness for a salt")]
    Random(#[source] getrandom::Error),
}

/// A snapshot of an engine's statistics. Counters start at zero with the engine, and only increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of jobs that wait for a lane now.
    pub queued: usize,
    /// The number of lanes that are in use now.
    pub lanes_busy: usize,
    /// The number of lanes of all threads.
    pub lanes_total: usize,
    /// The number of completed jobs.
    pub completed: u64,
    /// The number of jobs that were refused: at submission, by
    /// [`Engine::check_admission`](crate::Engine::check_admission), or because another client's job displaced
    /// them.
    pub refused: u64,
    /// The number of jobs that passed their deadline, or were given up because they would have.
    pub expired: u64,
    /// The number of jobs whose future was dropped.
    pub dropped: u64,
    /// The number of worker panics. A worker that panics loses the jobs in its lanes and restarts.
    pub panics: u64,
    /// The estimated throughput of all lanes together, in iterations per second. A hash of cost c takes 2^c iterations.
    pub iterations_per_second: u64,
}
