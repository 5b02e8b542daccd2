//! What an engine is doing, in numbers.

use std::time::Duration;

/// A snapshot of an engine. Counters run from its start and never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Jobs that wait for a lane.
    pub queued: usize,
    /// Lanes with a hash in them.
    pub lanes_busy: usize,
    /// All lanes of all threads.
    pub lanes_total: usize,
    /// Counter: jobs that were answered.
    pub completed: u64,
    /// Counter: jobs that were refused: at once, before they were submitted ([`Engine::room`](crate::Engine::room)), or when
    /// another share displaced them.
    pub refused: u64,
    /// Counter: jobs whose deadline passed.
    pub expired: u64,
    /// Counter: jobs whose future was dropped.
    pub dropped: u64,
    /// Counter: workers that panicked, lost what was in their lanes and began anew.
    pub panics: u64,
    /// Counter: how long all that were answered had waited for a lane, together.
    pub waited: Duration,
    /// Counter: how long they were in a lane, together.
    pub ran: Duration,
    /// Iterations a second that all lanes together are thought to do (a hash of cost c takes 2^c).
    pub iterations_per_second: u64,
}
