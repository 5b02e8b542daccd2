//! How an engine is set up.

use std::thread;

use crate::kernel::WIDEST;

/// How many hashes at once, where, and how many may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Worker threads, at least 1. Default: one for each core this process may use.
    pub threads: usize,
    /// Lanes of each thread, 1 to 8. Default: 6. More lanes are more hashes per second, each of
    /// them slower; beyond six the gain is 2 % and the loss of latency 15 %.
    pub lanes: usize,
    /// How many jobs may wait, at least 1. Default: 1024. Mostly deadlines bound the queue earlier.
    pub queue: usize,
    /// Whether workers step back when others want the core (Linux only). Default: yes.
    pub low_priority: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: thread::available_parallelism().map_or(1, Into::into),
            lanes: 6,
            queue: 1024,
            low_priority: true,
        }
    }
}

impl Settings {
    /// The nearest settings that make sense.
    pub(crate) fn within_bounds(self) -> Self {
        Self {
            threads: self.threads.max(1),
            lanes: self.lanes.clamp(1, WIDEST),
            queue: self.queue.max(1),
            ..self
        }
    }
}
