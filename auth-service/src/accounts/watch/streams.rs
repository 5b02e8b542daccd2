//! Limits the streams of this replica, and notifies them of new changes.

use parking_lot::Mutex;
use rolegate_program::shutdown::Shutdown;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::{Semaphore, watch};

/// The maximum number of streams of one caller.
const MAX_STREAMS_PER_CALLER: usize = 8;
const MAX_STREAMS: usize = 256;
/// The maximum number of snapshots that are sent at the same time. Each of them keeps a state of
/// the database alive.
const MAX_SNAPSHOTS: usize = 2;
/// The maximum number of streams that read the record at the same time. While the record is locked,
/// each read occupies a connection that changes need.
const MAX_RECORD_READS: usize = 2;

/// The streams of this replica, with the permits that limit them.
pub(crate) struct Watches {
    /// The revision of the newest sealed change of a user. A new value wakes the streams, which
    /// then read the record.
    pub(crate) newest_change: watch::Sender<i64>,
    streams_by_caller: Mutex<HashMap<String, usize>>,
    pub(super) snapshots: Arc<Semaphore>,
    pub(crate) record_reads: Semaphore,
    /// Ends all streams when the replica stops.
    pub(super) end: Shutdown,
}

/// The permit of one stream, which counts for its caller until it is dropped.
pub(super) struct StreamPermit {
    watches: Arc<Watches>,
    caller: String,
}

impl Watches {
    pub(crate) fn new() -> Self {
        Self {
            newest_change: watch::Sender::new(0),
            streams_by_caller: Mutex::default(),
            snapshots: Arc::new(Semaphore::new(MAX_SNAPSHOTS)),
            record_reads: Semaphore::new(MAX_RECORD_READS),
            end: Shutdown::new(),
        }
    }

    /// Acquires the permit for one more stream of this caller. Returns `None` if the caller, or all
    /// callers together, have too many.
    pub(super) fn try_acquire_stream(self: &Arc<Self>, caller: String) -> Option<StreamPermit> {
        let mut streams = self.streams_by_caller.lock();
        let total: usize = streams.values().sum();
        let own = streams.entry(caller.clone()).or_default();
        if total >= MAX_STREAMS || *own >= MAX_STREAMS_PER_CALLER {
            return None;
        }
        *own += 1;
        Some(StreamPermit {
            watches: Arc::clone(self),
            caller,
        })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streams = self.watches.streams_by_caller.lock();
        if let Some(own) = streams.get_mut(&self.caller) {
            *own -= 1;
            if *own == 0 {
                streams.remove(&self.caller);
            }
        }
    }
}
