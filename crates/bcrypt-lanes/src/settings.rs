//! Engine settings.

use std::thread;

/// The size of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Worker threads, at least 1. Default: one for each core available to the process.
    pub threads: usize,
    /// Lanes per thread, 1 to 8. Default: 6. More lanes increase throughput and latency; beyond six,
    /// throughput gains 2 % and latency grows by 15 %.
    pub lanes: usize,
    /// Maximum number of queued jobs, at least 1. Default: 1024. Deadlines usually limit it first.
    pub queue: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, Into::into);
        Self {
            threads,
            lanes: 6,
            queue: 1024,
        }
    }
}
