//! Limits the streams of this replica, and notifies them of new changes.

use rolegate_http_server::clients::{ClientSlot, ClientSlots};
use rolegate_program::shutdown::Shutdown;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The maximum number of streams of one caller.
const MAX_STREAMS_PER_CALLER: u32 = 8;
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
    streams: Arc<Semaphore>,
    streams_by_caller: ClientSlots<String>,
    pub(super) snapshots: Arc<Semaphore>,
    pub(crate) record_reads: Semaphore,
    /// Ends all streams when the replica stops.
    pub(super) end: Shutdown,
}

/// The permit of one stream, which counts for its caller until it is dropped.
pub(super) struct StreamPermit {
    _of_caller: ClientSlot,
    _of_all: OwnedSemaphorePermit,
}

impl Watches {
    pub(crate) fn new() -> Self {
        Self {
            newest_change: watch::Sender::new(0),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            streams_by_caller: ClientSlots::new(MAX_STREAMS_PER_CALLER),
            snapshots: Arc::new(Semaphore::new(MAX_SNAPSHOTS)),
            record_reads: Semaphore::new(MAX_RECORD_READS),
            end: Shutdown::new(),
        }
    }

    /// Acquires the permit for one more stream of this caller. Returns `None` if the caller, or all
    /// callers together, have too many.
    pub(super) fn try_acquire_stream(&self, caller: String) -> Option<StreamPermit> {
        Some(StreamPermit {
            _of_caller: self.streams_by_caller.acquire(caller)?,
            _of_all: Arc::clone(&self.streams).try_acquire_owned().ok()?,
        })
    }
}
