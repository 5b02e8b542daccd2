//! What the engine answers, and what it counts.

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
    pub const fn is_match(self) -> bool {
        matches!(self, Self::Match { .. })
    }
}

/// Why a job was not computed. No variant says anything about the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// Refused at admission because it would miss its deadline or the queue is full. Nothing was
    /// computed.
    #[error("too many passwords are waiting, try again in {retry_after:?}")]
    Refused {
        /// When the same request would be admitted if no others arrive. At least one millisecond.
        retry_after: Duration,
        /// Whether the client's own jobs are the reason, or everybody's.
        cause: RefusalCause,
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

/// Why a job was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCause {
    /// The client has other work here, which takes its share. A client without any may still be admitted.
    OwnShare,
    /// The client has no other work that counts here: there is no room for anybody.
    NoCapacity,
}

impl RefusalCause {
    /// Returns the cause for a client that already has this much work here.
    pub const fn for_own_work(own_work: u64) -> Self {
        if own_work == 0 {
            Self::NoCapacity
        } else {
            Self::OwnShare
        }
    }
}

/// A snapshot of an engine. Counters start at zero with the engine and only increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Jobs waiting for a lane.
    pub queued: usize,
    /// Lanes in use.
    pub lanes_busy: usize,
    /// Lanes of all threads.
    pub lanes_total: usize,
    /// Counter: completed jobs.
    pub completed: u64,
    /// Counter: jobs refused at submission, by [`Engine::check_admission`](crate::Engine::check_admission), or
    /// because another client's job displaced them.
    pub refused: u64,
    /// Counter: jobs whose deadline passed.
    pub expired: u64,
    /// Counter: jobs whose future was dropped.
    pub dropped: u64,
    /// Counter: worker panics. A worker that panics loses the jobs in its lanes and restarts.
    pub panics: u64,
    /// Estimated throughput of all lanes together, in iterations per second (cost c takes 2^c).
    pub iterations_per_second: u64,
}
