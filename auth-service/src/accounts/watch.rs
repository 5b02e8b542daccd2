//! Streams of the changes of users, for other services.

use super::{error::AccountError, record::warn_unreadable, service::Accounts};
use crate::store::{CheckedChange, SEAL_INTERVAL, Seal, SealReference, Snapshot, UserChange};
use futures_util::TryStreamExt as _;
use parking_lot::Mutex;
use rolegate_program::shutdown::Shutdown;
use rolegate_proto::Reason;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    collections::HashMap,
    convert::Infallible,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch},
    time::{Instant, timeout, timeout_at},
};

/// Of one caller, and of all.
const MAX_STREAMS_OF_CALLER: usize = 8;
const MAX_STREAMS: usize = 256;
/// The number of snapshots at the same time. Each keeps a state of the database.
const MAX_SNAPSHOTS: usize = 2;
/// Items that wait for a slow caller.
const MAX_WAITING: usize = 64;
/// A snapshot ends after this time, and one more second for each of these users: a caller who takes them more slowly must
/// not keep its place, nor the state of the database.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(30);
const MIN_USERS_PER_SECOND: u64 = 1000;
/// When a caller without a place asks again.
const BUSY_RETRY: Duration = Duration::from_secs(10);
/// How often a stream checks that its caller may still watch.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Streams that read the record at the same time. While the record is locked each waits with a connection, which changes
/// need.
const MAX_RECORD_READS: usize = 2;
/// How long the start of a stream waits for one of these places.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a caller learns how far the record is, once more after the last change.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// The caller of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Watcher {
    /// An admin.
    Bearer(SecretString),
    /// A service that the operator trusts, by this name.
    Service(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WatchItem {
    Change(UserChange),
    Progress {
        revision: i64,
        seal: Option<SealReference>,
    },
}

/// Where a stream goes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchStart {
    /// The last revision that the caller has stored; `None` for all users first.
    pub(crate) revision: Option<i64>,
    /// The last seal that the caller has seen: a record without it is not the one that the caller knows.
    pub(crate) seal: Option<SealReference>,
}

/// The items of a stream.
pub(crate) struct WatchItems {
    /// Behind the items there may be an error that does not overtake them.
    items: mpsc::Receiver<Result<WatchItem, AccountError>>,
    /// Why the stream ends; `None` once that is known.
    error: Option<oneshot::Receiver<AccountError>>,
}

impl WatchItems {
    /// The next item, or why there is none. An error overtakes the items that wait: a caller who may not watch any more
    /// gets none of them. `None` if the replica stops.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<WatchItem, AccountError>>> {
        if let Some(error) = &mut self.error
            && let Poll::Ready(error) = Pin::new(error).poll(context)
        {
            self.error = None;
            if let Ok(error) = error {
                self.items.close();
                while self.items.try_recv().is_ok() {}
                return Poll::Ready(Some(Err(error)));
            }
        }
        match self.items.poll_recv(context) {
            // The error may have been sent since it was asked for.
            Poll::Ready(None) => {
                let error = self
                    .error
                    .take()
                    .and_then(|mut error| error.try_recv().ok());
                Poll::Ready(error.map(Err))
            }
            item => {
                if let Poll::Ready(Some(Err(_))) = item {
                    self.items.close();
                }
                item
            }
        }
    }

    #[cfg(test)]
    pub(super) async fn recv(&mut self) -> Option<Result<WatchItem, AccountError>> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }
}

/// The streams of this replica.
pub(crate) struct Watches {
    /// The last change of a user that is sealed: a reason to look.
    pub(super) changed: watch::Sender<i64>,
    of_callers: Mutex<HashMap<String, usize>>,
    snapshots: Arc<Semaphore>,
    pub(super) record_reads: Semaphore,
    /// Ends all streams when it stops.
    pub(crate) end: Shutdown,
}

/// The place of a stream among those of its caller.
struct Place(Arc<Watches>, String);

impl Watches {
    pub(super) fn new() -> Self {
        Self {
            changed: watch::Sender::new(0),
            of_callers: Mutex::default(),
            snapshots: Arc::new(Semaphore::new(MAX_SNAPSHOTS)),
            record_reads: Semaphore::new(MAX_RECORD_READS),
            end: Shutdown::new(),
        }
    }

    fn place(self: &Arc<Self>, caller: String) -> Option<Place> {
        let mut streams = self.of_callers.lock();
        let all: usize = streams.values().sum();
        let own = streams.entry(caller.clone()).or_default();
        if all >= MAX_STREAMS || *own >= MAX_STREAMS_OF_CALLER {
            return None;
        }
        *own += 1;
        Some(Place(Arc::clone(self), caller))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut streams = self.0.of_callers.lock();
        if let Some(own) = streams.get_mut(&self.1) {
            *own -= 1;
            if *own == 0 {
                streams.remove(&self.1);
            }
        }
    }
}

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
        let place = self.watches.place(caller).ok_or_else(busy)?;
        let mut snapshot_place = None;
        if start.revision.is_none() {
            let snapshots = Arc::clone(&self.watches.snapshots);
            snapshot_place = Some(snapshots.try_acquire_owned().map_err(|_| busy())?);
        }
        self.complete_start(&mut start).await?;
        let (items, receiver) = mpsc::channel(MAX_WAITING);
        let (end_sender, error) = oneshot::channel();
        let (accounts, end) = (self.clone(), self.watches.end.stopping());
        tokio::spawn(async move {
            let _place = place;
            let mut stream = WatchStream {
                accounts: accounts.clone(),
                access: WatchAccess {
                    accounts,
                    watcher,
                    checked_at: Instant::now(),
                },
                items: items.clone(),
            };
            tokio::select! {
                () = end => {}
                () = items.closed() => {}
                error = stream.send_all(start, snapshot_place) => {
                    let _ = end_sender.send(error);
                }
            }
        });
        Ok(WatchItems {
            items: receiver,
            error: Some(error),
        })
    }

    /// Checks that the record has what follows the start, which gets the newest seal if it has none.
    async fn complete_start(&self, start: &mut WatchStart) -> Result<(), AccountError> {
        if start.revision.is_none() && start.seal.is_none() {
            return Ok(());
        }
        let place = timeout(START_TIMEOUT, self.watches.record_reads.acquire());
        let Ok(Ok(_place)) = place.await else {
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

    async fn has_seal(&self, seal: &SealReference) -> Result<bool, AccountError> {
        let found = self.store.seal_at(seal.revision).await?;
        Ok(found.is_some_and(|found| seal.refers_to(&found)))
    }

    /// Reads the changes behind a revision, if the record still has all of them and the seal that was seen last.
    async fn read_changes(
        &self,
        revision: i64,
        seen: Option<&SealReference>,
    ) -> Result<ChangeBatch, AccountError> {
        let Ok(_place) = self.watches.record_reads.acquire().await else {
            return Err(Reason::Internal.into());
        };
        let store = &self.store;
        // Known before the read of the changes, which finds every one up to it.
        let newest = store.seals().await?.newest;
        let changes = store.changes_after(revision).await?;
        // After both reads, so that all are of one record, and no change was removed before they were read.
        let oldest = store.seals().await?.oldest;
        if oldest.revision > revision {
            return Err(Reason::SnapshotRequired.into());
        }
        if let Some(seen) = seen
            && !self.has_seal(seen).await?
        {
            return Err(Reason::SnapshotRequired.into());
        }
        Ok(ChangeBatch { newest, changes })
    }

    /// The name under which the watcher's streams count, while the watcher may watch.
    async fn check_watcher(&self, watcher: &Watcher) -> Result<String, AccountError> {
        match watcher {
            Watcher::Bearer(token) => {
                let admin = self.authorize_admin(token.expose_secret()).await?;
                Ok(format!("user {}", admin.user.id))
            }
            Watcher::Service(name) => Ok(format!("service {name}")),
        }
    }
}

/// The right of a caller to watch, which is checked again and again.
struct WatchAccess {
    accounts: Accounts,
    watcher: Watcher,
    /// When the watcher was last found to be allowed to watch.
    checked_at: Instant,
}

impl WatchAccess {
    /// Fails if the watcher may not watch any more.
    async fn check(&mut self) -> Result<(), AccountError> {
        self.accounts.check_watcher(&self.watcher).await?;
        self.checked_at = Instant::now();
        Ok(())
    }

    /// Waits for something, however long it takes, only while the watcher may watch.
    async fn check_during<F: Future>(&mut self, work: F) -> Result<F::Output, AccountError> {
        let mut work = pin!(work);
        loop {
            if self.checked_at.elapsed() >= CHECK_INTERVAL {
                self.check().await?;
            }
            if let Ok(output) = timeout(CHECK_INTERVAL, &mut work).await {
                return Ok(output);
            }
        }
    }
}

struct WatchStream {
    accounts: Accounts,
    access: WatchAccess,
    items: mpsc::Sender<Result<WatchItem, AccountError>>,
}

impl WatchStream {
    /// Sends until something fails.
    async fn send_all(
        &mut self,
        start: WatchStart,
        snapshot_place: Option<OwnedSemaphorePermit>,
    ) -> AccountError {
        let sent = async {
            let (revision, seal) = match start.revision {
                Some(revision) => (revision, start.seal),
                None => self.send_snapshot().await?,
            };
            drop(snapshot_place);
            self.send_changes(revision, seal).await
        };
        let Err(error) = sent.await;
        error
    }

    /// Sends all users of one moment, and the revision of the last change that they show. Returns that and its seal.
    async fn send_snapshot(&mut self) -> Result<(i64, Option<SealReference>), AccountError> {
        let snapshot = self.accounts.store.snapshot();
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
                let change = UserChange {
                    revision: 0,
                    seal: None,
                    created_at: Some(user.created_at.unwrap_or_default()),
                    user_id: user.id,
                    username: user.username,
                    role: user.role,
                    disabled: user.disabled,
                    deleted: false,
                };
                count += 1;
                self.send_by(deadline(count), WatchItem::Change(change))
                    .await?;
            }
        }
        let Snapshot { revision, seal, .. } = snapshot;
        let progress = WatchItem::Progress {
            revision,
            seal: seal.clone(),
        };
        self.send_by(deadline(count), progress).await?;
        Ok((revision, seal))
    }

    /// Sends the changes behind a revision, for as long as the watcher may watch and the record has the seals that were
    /// seen: another database may take the place of the one that this stream began with.
    async fn send_changes(
        &mut self,
        mut revision: i64,
        mut seen: Option<SealReference>,
    ) -> Result<Infallible, AccountError> {
        let mut news = self.accounts.watches.changed.subscribe();
        let mut sent = revision;
        let mut progress_at = Instant::now() + PROGRESS_INTERVAL;
        loop {
            self.access.check().await?;
            let is_progress_due = Instant::now() >= progress_at;
            if *news.borrow_and_update() > revision || is_progress_due {
                let batch = self.accounts.read_changes(revision, seen.as_ref());
                let batch = self.access.check_during(batch).await??;
                seen = SealReference::new(&batch.newest);
                let last = batch.changes.last().map(|last| last.revision);
                for CheckedChange { revision, content } in batch.changes {
                    match content {
                        Ok(change) => self.send(WatchItem::Change(change)).await?,
                        Err(problem) => {
                            warn_unreadable(revision, &problem);
                            return self
                                .end_behind_items(AccountError::UnreadableChange { revision })
                                .await;
                        }
                    }
                }
                if let Some(last) = last {
                    revision = last;
                    continue;
                }
                revision = revision.max(batch.newest.revision);
            }
            if is_progress_due {
                progress_at = Instant::now() + PROGRESS_INTERVAL;
                if revision > sent {
                    sent = revision;
                    let progress = WatchItem::Progress {
                        revision,
                        seal: seen.clone(),
                    };
                    self.send(progress).await?;
                }
            }
            let _ = timeout(2 * SEAL_INTERVAL, news.changed()).await;
        }
    }

    /// Waits for a slow caller, and sends to a fast one, only while the caller may watch.
    async fn send(&mut self, item: WatchItem) -> Result<(), AccountError> {
        self.send_result(Ok(item)).await
    }

    /// Does the same within a deadline, so that a slow caller leaves the place for snapshots to others.
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

    /// Ends with an error behind the items that wait, which the caller takes for as long as it may watch.
    async fn end_behind_items(&mut self, error: AccountError) -> Result<Infallible, AccountError> {
        self.send_result(Err(error)).await?;
        self.access.check_during(self.items.closed()).await?;
        Err(Reason::Internal.into())
    }
}

/// Changes that were read together.
struct ChangeBatch {
    /// The newest seal before the changes were read.
    newest: Seal,
    changes: Vec<CheckedChange>,
}
