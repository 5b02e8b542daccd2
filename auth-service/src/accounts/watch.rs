//! Streams of the changes of users, for other services.
//!
//! - `access`: who may watch, which is checked for as long as a stream runs.
//! - `items`: the items that a stream sends, and their receiver.
//! - `streams`: all streams of this replica, and how many there may be.
//! - `stream`: one stream, which sends a snapshot and then changes.

mod access;
mod items;
mod stream;
pub(super) mod streams;

pub(crate) use access::Watcher;
pub(crate) use items::{WatchItem, WatchItems};
pub(crate) use stream::WatchStart;

use super::{error::AccountError, service::Accounts};
use crate::store::SealReference;
use rolegate_program::shutdown::Shutdown;
use rolegate_proto::Reason;
use std::{sync::Arc, time::Duration};
use stream::WatchStream;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// The items that wait for a slow caller.
const MAX_WAITING_ITEMS: usize = 64;
/// When a caller without a permit asks again.
const BUSY_RETRY: Duration = Duration::from_secs(10);
/// How long the start of a stream waits for a permit to read the record.
const START_TIMEOUT: Duration = Duration::from_secs(2);

impl Accounts {
    /// When the streams of this replica end.
    pub(crate) fn end_of_watches(&self) -> Shutdown {
        self.watches.end.clone()
    }

    /// The changes of users behind the revision of `start`, or without one all users and then their changes.
    pub(crate) async fn watch_users(
        &self,
        watcher: Watcher,
        mut start: WatchStart,
    ) -> Result<WatchItems, AccountError> {
        let caller = self.check_watcher(&watcher).await?;
        let busy = || AccountError::overloaded(BUSY_RETRY);
        let stream_permit = self.watches.try_acquire_stream(caller).ok_or_else(busy)?;
        let snapshot_permit = if start.revision.is_none() {
            let snapshots = Arc::clone(&self.watches.snapshots);
            Some(snapshots.try_acquire_owned().map_err(|_| busy())?)
        } else {
            None
        };
        self.complete_start(&mut start).await?;
        let (items, item_receiver) = mpsc::channel(MAX_WAITING_ITEMS);
        let (error_sender, error_receiver) = oneshot::channel();
        let mut stream = WatchStream::new(self.clone(), watcher, items.clone());
        let stopping = self.watches.end.stopping();
        tokio::spawn(async move {
            let _stream_permit = stream_permit;
            tokio::select! {
                () = stopping => {}
                () = items.closed() => {}
                error = stream.send_all(start, snapshot_permit) => {
                    let _ = error_sender.send(error);
                }
            }
        });
        Ok(WatchItems::new(item_receiver, error_receiver))
    }

    /// Checks that the record has what follows the start, which gets the newest seal if it has none.
    async fn complete_start(&self, start: &mut WatchStart) -> Result<(), AccountError> {
        if start.revision.is_none() && start.seal.is_none() {
            return Ok(());
        }
        let acquired = timeout(START_TIMEOUT, self.watches.record_reads.acquire()).await;
        let Ok(Ok(_permit)) = acquired else {
            return Err(AccountError::overloaded(BUSY_RETRY));
        };
        if let Some(seal) = &start.seal
            && !self.has_seal(seal).await?
        {
            return Err(Reason::HistoryUnknown.into());
        }
        let Some(revision) = start.revision else {
            return Ok(());
        };
        if !self.store.has_revision(revision).await? {
            return Err(Reason::SnapshotRequired.into());
        }
        if start.seal.is_none() {
            let newest = self.store.seals().await?.newest;
            start.seal = SealReference::new(&newest);
        }
        Ok(())
    }
}
