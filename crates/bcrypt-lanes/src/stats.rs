//! Engine statistics.

use std::time::Duration;

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
    /// Counter: total time that completed jobs waited for a lane.
    pub waited: Duration,
    /// Counter: total time that completed jobs spent in a lane.
    pub ran: Duration,
    /// Estimated throughput of all lanes together, in iterations per second (cost c takes 2^c).
    pub iterations_per_second: u64,
}
