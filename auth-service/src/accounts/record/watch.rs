//! Streams the changes of users to other services.
//!
//! `watch_users` checks the caller, and the position in the record from which the stream starts. It
//! then starts a task, which sends items until the caller leaves, the replica stops, or something
//! fails, such as a check of the right to watch.
//!
//! - `access` checks the right to watch, repeatedly while a stream runs.
//! - `items` defines the items of a stream and their receiver.
//! - `streams` limits the streams of this replica and notifies them of new changes.
//! - `stream` is the task: it sends a snapshot of all users, and then changes.

mod access;
mod items;
mod stream;
pub(crate) mod streams;

pub(crate) use access::Watcher;
pub(crate) use items::{WatchItem, WatchItems};

use super::Record;
use crate::{accounts::error::AccountError, store::SealReference};
use access::WatchAccess;
use items::StreamPosition;
use rolegate_program::shutdown::Shutdown;
use rolegate_proto::Reason;
use std::{sync::Arc, time::Duration};
use stream::WatchStream;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// The maximum number of items that wait for a slow caller.
const MAX_WAITING_ITEMS: usize = 64;
/// The time after which a caller should retry if there was no permit.
const BUSY_RETRY: Duration = Duration::from_secs(10);
/// The maximum time that the start of a stream waits for a permit to read the record.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// The position in the record from which a stream starts.
pub(crate) struct WatchStart {
    /// The last revision that the caller has stored; `None` to get all users first.
    pub(crate) revision: Option<i64>,
    /// The last seal that the caller has seen. If the record lacks this seal, it is not the record
    /// that the caller knows.
    pub(crate) seal: Option<SealReference>,
}

impl Record {
    /// Returns the handle with which the server ends the streams of this replica when it stops.
    pub(crate) fn end_of_watches(&self) -> Shutdown {
        self.watches.end.clone()
    }

    /// Streams the changes after the revision of `start`. Without a revision, it sends all users
    /// first. Fails if the caller may not watch, if there are too many streams or snapshots, or if
    /// the record lacks the seal or the changes after the revision.
    pub(crate) async fn watch_users(
        self: &Arc<Self>,
        watcher: Watcher,
        start: WatchStart,
    ) -> Result<WatchItems, AccountError> {
        let caller = watcher.check(&self.authorizer).await?;
        let busy = || AccountError::overloaded(BUSY_RETRY);
        let stream_permit = self.watches.try_acquire_stream(caller).ok_or_else(busy)?;
        let snapshot_permit = if start.revision.is_none() {
            let snapshots = Arc::clone(&self.watches.snapshots);
            Some(snapshots.try_acquire_owned().map_err(|_| busy())?)
        } else {
            None
        };
        let position = self.check_start(start).await?;
        let (items, item_receiver) = mpsc::channel(MAX_WAITING_ITEMS);
        let (error_sender, error_receiver) = oneshot::channel();
        let mut stream = WatchStream {
            record: Arc::clone(self),
            access: WatchAccess::new(Arc::clone(&self.authorizer), watcher),
            items: items.clone(),
        };
        let stopping = self.watches.end.stopping();
        tokio::spawn(async move {
            let _stream_permit = stream_permit;
            tokio::select! {
                () = stopping => {}
                () = items.closed() => {}
                error = stream.send_all(position, snapshot_permit) => {
                    let _ = error_sender.send(error);
                }
            }
        });
        Ok(WatchItems {
            items: item_receiver,
            error: Some(error_receiver),
        })
    }

    /// Checks that the record has the seal of `start` and all changes after its revision, and
    /// returns its position; `None` if it has no revision. A position without a seal gets the newest
    /// seal.
    async fn check_start(&self, start: WatchStart) -> Result<Option<StreamPosition>, AccountError> {
        let WatchStart { revision, seal } = start;
        if revision.is_none() && seal.is_none() {
            return Ok(None);
        }
        let acquired = timeout(START_TIMEOUT, self.watches.record_reads.acquire()).await;
        let Ok(Ok(_permit)) = acquired else {
            return Err(AccountError::overloaded(BUSY_RETRY));
        };
        if let Some(seal) = &seal
            && !self.has_seal(seal).await?
        {
            return Err(Reason::HistoryUnknown.into());
        }
        let Some(revision) = revision else {
            return Ok(None);
        };
        if !self.store.has_revision(revision).await? {
            return Err(Reason::SnapshotRequired.into());
        }
        let seal = match seal {
            Some(_) => seal,
            None => SealReference::new(&self.store.seals().await?.newest),
        };
        Ok(Some(StreamPosition { revision, seal }))
    }
}
