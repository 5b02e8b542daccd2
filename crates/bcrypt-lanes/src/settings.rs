//! Engine settings.

use std::thread;

use crate::kernel::MAX_LANES;

/// Size and priority of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Worker threads, at least 1. Default: one for each core available to the process.
    pub threads: usize,
    /// Lanes per thread, 1 to 8. Default: 6. More lanes increase throughput and latency; beyond six,
    /// throughput gains 2 % and latency grows by 15 %.
    pub lanes: usize,
    /// Maximum number of queued jobs, at least 1. Default: 1024. Deadlines usually limit it first.
    pub queue: usize,
    /// Whether workers run at low priority (Linux only). Default: yes.
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
    /// These settings, clamped to valid values.
    pub(crate) fn clamped(self) -> Self {
        Self {
            threads: self.threads.max(1),
            lanes: self.lanes.clamp(1, MAX_LANES),
            queue: self.queue.max(1),
            ..self
        }
    }
}
