//! The task of one stream: it sends a snapshot of all users, and then their changes.
//!
//! Each read of changes checks that the record is still the one with which the stream started,
//! because another database may have replaced it.

use super::{
    access::WatchAccess,
    items::{StreamPosition, WatchItem},
};
use crate::{
    accounts::{
        error::AccountError,
        record::{Record, warn_unreadable},
    },
    store::{CheckedChange, SEAL_INTERVAL, Seal, SealReference, Snapshot, UserChange},
    user::User,
};
use futures_util::TryStreamExt as _;
use rolegate_proto::Reason;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, timeout, timeout_at},
};

/// The time after which a snapshot fails, plus one second for each [`MIN_USERS_PER_SECOND`] users.
///
/// Without this limit, a slow caller could occupy a permit and a snapshot of the database forever.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(30);
const MIN_USERS_PER_SECOND: u64 = 1000;
/// The interval at which a stream reports its position in the record, if the position has changed.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// Changes that were read together.
struct ChangeBatch {
    /// The newest seal, read before the changes.
    newest: Seal,
    changes: Vec<CheckedChange>,
}

pub(super) struct WatchStream {
    pub(super) record: Arc<Record>,
    pub(super) access: WatchAccess,
    pub(super) items: mpsc::Sender<Result<WatchItem, AccountError>>,
}

impl WatchStream {
    /// Sends the changes after a position until something fails, and returns the error. Without a
    /// position, sends a snapshot first.
    pub(super) async fn send_all(
        &mut self,
        position: Option<StreamPosition>,
        snapshot_permit: Option<OwnedSemaphorePermit>,
    ) -> AccountError {
        let sent = async {
            let position = match position {
                Some(position) => position,
                None => self.send_snapshot().await?,
            };
            drop(snapshot_permit);
            self.send_changes(position).await
        };
        let Err(error) = sent.await;
        error
    }

    /// Sends all users as of one moment, and then the position in the record at that moment.
    /// Returns this position. Fails if the caller takes too long to receive the users.
    async fn send_snapshot(&mut self) -> Result<StreamPosition, AccountError> {
        let snapshot = self.record.store.snapshot();
        let mut snapshot = self.access.check_during(snapshot).await??;
        let began = Instant::now();
        let deadline = |count: u64| {
            began + SNAPSHOT_TIMEOUT + Duration::from_secs(count / MIN_USERS_PER_SECOND)
        };
        let mut count = 0_u64;
        while let Some(users) = self
            .access
            .check_during(snapshot.users.try_next())
            .await??
        {
            for user in users {
                count += 1;
                self.send_by(deadline(count), snapshot_item(user)).await?;
            }
        }
        let Snapshot { revision, seal, .. } = snapshot;
        let position = StreamPosition { revision, seal };
        let end = WatchItem::Progress(position.clone());
        self.send_by(deadline(count), end).await?;
        Ok(position)
    }

    /// Sends the changes after a position, as long as the watcher may watch and the record has the
    /// seals that the stream has seen.
    ///
    /// A record without these seals belongs to another database, which has replaced the database
    /// with which the stream started.
    async fn send_changes(
        &mut self,
        mut position: StreamPosition,
    ) -> Result<Infallible, AccountError> {
        let mut newest_change = self.record.watches.newest_change.subscribe();
        let mut reported_revision = position.revision;
        let mut progress_at = Instant::now() + PROGRESS_INTERVAL;
        loop {
            self.access.check().await?;
            let is_progress_due = Instant::now() >= progress_at;
            let has_changed = *newest_change.borrow_and_update() > position.revision;
            if (has_changed || is_progress_due) && self.send_batch(&mut position).await? {
                continue;
            }
            if is_progress_due {
                progress_at = Instant::now() + PROGRESS_INTERVAL;
                if position.revision > reported_revision {
                    reported_revision = position.revision;
                    self.send(WatchItem::Progress(position.clone())).await?;
                }
            }
            let _ = timeout(2 * SEAL_INTERVAL, newest_change.changed()).await;
        }
    }

    /// Sends the changes of one read, and moves the position past them. Returns true if there were
    /// any changes, because then there may be more. An unreadable change ends the stream after the
    /// changes before it.
    async fn send_batch(&mut self, position: &mut StreamPosition) -> Result<bool, AccountError> {
        let read = self.record.read_changes(position);
        let batch = self.access.check_during(read).await??;
        position.seal = SealReference::new(&batch.newest);
        let last = batch.changes.last().map(|change| change.revision);
        for change in batch.changes {
            match change.content {
                Ok(content) => self.send(WatchItem::Change(content)).await?,
                Err(problem) => {
                    let revision = change.revision;
                    warn_unreadable(revision, &problem);
                    let error = AccountError::UnreadableChange { revision };
                    let Err(error) = self.end_behind_items(error).await;
                    return Err(error);
                }
            }
        }
        position.revision = last.unwrap_or(position.revision.max(batch.newest.revision));
        Ok(last.is_some())
    }

    /// Waits until the queue of the caller has capacity, and sends the item. Fails if the caller
    /// may not watch any more.
    async fn send(&mut self, item: WatchItem) -> Result<(), AccountError> {
        self.send_result(Ok(item)).await
    }

    /// Sends an item like [`Self::send`], but fails at the deadline, so that a slow caller does not
    /// keep the permit for snapshots from others.
    async fn send_by(&mut self, deadline: Instant, item: WatchItem) -> Result<(), AccountError> {
        timeout_at(deadline, self.send(item))
            .await
            .map_err(|_| Reason::Overloaded)?
    }

    async fn send_result(
        &mut self,
        item: Result<WatchItem, AccountError>,
    ) -> Result<(), AccountError> {
        match self.access.check_during(self.items.reserve()).await? {
            Ok(permit) => {
                permit.send(item);
                Ok(())
            }
            Err(_gone) => Err(Reason::Internal.into()),
        }
    }

    /// Sends an error behind the waiting items, and waits until the caller has received it or has
    /// lost the right to watch. Always returns an error, which ends the task of the stream.
    async fn end_behind_items(&mut self, error: AccountError) -> Result<Infallible, AccountError> {
        self.send_result(Err(error)).await?;
        self.access.check_during(self.items.closed()).await?;
        Err(Reason::Internal.into())
    }
}

impl Record {
    pub(super) async fn has_seal(&self, seal: &SealReference) -> Result<bool, AccountError> {
        let found = self.store.seal_at(seal.revision).await?;
        Ok(found.is_some_and(|found| seal.refers_to(&found)))
    }

    /// Reads changes after a position. Fails if the record lacks some of them, or the seal that the
    /// stream has seen last.
    async fn read_changes(&self, position: &StreamPosition) -> Result<ChangeBatch, AccountError> {
        let Ok(_permit) = self.watches.record_reads.acquire().await else {
            return Err(Reason::Internal.into());
        };
        let store = &self.store;
        // This seal is read before the changes. If no changes are found, every change up to this
        // seal was already sent.
        let newest = store.seals().await?.newest;
        let changes = store.changes_after(position.revision).await?;
        // These checks come after the reads. So they prove that no change was removed before it was
        // read, and that all reads are of one record.
        let oldest = store.seals().await?.oldest;
        if oldest.revision > position.revision {
            return Err(Reason::SnapshotRequired.into());
        }
        if let Some(last_seen) = &position.seal
            && !self.has_seal(last_seen).await?
        {
            return Err(Reason::SnapshotRequired.into());
        }
        Ok(ChangeBatch { newest, changes })
    }
}

/// Converts a user of a snapshot to a change without a revision.
fn snapshot_item(user: User) -> WatchItem {
    WatchItem::Change(UserChange {
        revision: 0,
        seal: None,
        created_at: Some(user.created_at.unwrap_or_default()),
        memberships: user.memberships,
        until: user.until,
        user_id: user.id,
        username: user.username,
        role: user.role,
        disabled: user.disabled,
        deleted: false,
    })
}
