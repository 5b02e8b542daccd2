//! The streams of this replica, and how many there may be.

use parking_lot::Mutex;
use rolegate_program::shutdown::Shutdown;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::{Semaphore, watch};

/// How many streams one caller may have.
const MAX_STREAMS_PER_CALLER: usize = 8;
const MAX_STREAMS: usize = 256;
/// How many snapshots may be sent at the same time. Each of them keeps a state of the database
/// alive.
const MAX_SNAPSHOTS: usize = 2;
/// How many streams may read the record at the same time. While the record is locked, each read
/// holds a connection that changes need.
const MAX_RECORD_READS: usize = 2;

/// The streams of this replica, with the permits that limit them.
pub(crate) struct Watches {
    /// The revision of the newest sealed change of a user; a new one tells the streams to read the
    /// record.
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

    /// Counts one more stream of this caller; `None` if there are too many.
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
