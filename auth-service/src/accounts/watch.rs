//! Streams of the changes of users, for other services.

use super::{error::AccountError, service::Accounts};
use crate::store::{SEAL_INTERVAL, SealReference, Snapshot, UserChange};
use futures_util::TryStreamExt as _;
use parking_lot::Mutex;
use rolegate_program::shutdown::Shutdown;
use rolegate_proto::Reason;
use secrecy::{ExposeSecret as _, SecretString};
use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{Semaphore, mpsc, watch},
    time::{Instant, timeout},
};

/// Of one caller, and of all.
const MAX_STREAMS_OF_CALLER: usize = 8;
const MAX_STREAMS: usize = 256;
/// Each keeps a state of the database.
const MAX_SNAPSHOTS: usize = 2;
/// Items that wait for a slow caller.
const MAX_WAITING: usize = 64;
/// A caller who takes no item of a snapshot for as long loses it.
const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(30);
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

pub(crate) type WatchItems = mpsc::Receiver<Result<WatchItem, AccountError>>;

/// The streams of this replica.
pub(crate) struct Watches {
    /// The last change of a user that is sealed: a reason to look.
    pub(super) changed: watch::Sender<i64>,
    of_callers: Mutex<HashMap<String, usize>>,
    snapshots: Semaphore,
    /// Ends all streams when it stops.
    pub(crate) end: Shutdown,
}

/// The place of a stream among those of its caller.
struct Place(Arc<Watches>, String);

impl Watches {
    pub(super) fn new() -> Self {
        let (of_callers, snapshots) = (Mutex::default(), Semaphore::new(MAX_SNAPSHOTS));
        Self {
            changed: watch::Sender::new(0),
            of_callers,
            snapshots,
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
        let busy = || {
            let (reason, retry_after) = (Reason::Overloaded, Duration::from_secs(10));
            AccountError::Later {
                reason,
                retry_after,
                scope: None,
            }
        };
        let place = self.watches.place(caller).ok_or_else(busy)?;
        if let Some(seal) = &start.seal
            && !self.has_seal(seal).await?
        {
            return Err(Reason::HistoryUnknown.into());
        }
        if let Some(revision) = start.revision {
            if !self.store.has_revision(revision).await? {
                return Err(Reason::SnapshotRequired.into());
            }
            if start.seal.is_none() {
                let [_, newest] = self.store.seals().await?;
                start.seal = SealReference::of(&newest);
            }
        }
        let (items, receiver) = mpsc::channel(MAX_WAITING);
        let (accounts, end) = (self.clone(), self.watches.end.stopping());
        tokio::spawn(async move {
            let _place = place;
            let stream = WatchStream {
                accounts,
                watcher,
                items: items.clone(),
            };
            tokio::select! {
                () = end => {}
                () = items.closed() => {}
                error = stream.send_all(start) => {
                    let _ = items.send(Err(error)).await;
                }
            }
        });
        Ok(receiver)
    }

    async fn has_seal(&self, seal: &SealReference) -> Result<bool, AccountError> {
        let found = self.store.seal_at(seal.revision).await?;
        Ok(found.is_some_and(|found| seal.is_of(&found)))
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

struct WatchStream {
    accounts: Accounts,
    watcher: Watcher,
    items: mpsc::Sender<Result<WatchItem, AccountError>>,
}

impl WatchStream {
    /// Sends until something fails.
    async fn send_all(&self, start: WatchStart) -> AccountError {
        let sent = async {
            let (revision, seal) = match start.revision {
                Some(revision) => (revision, start.seal),
                None => self.send_snapshot().await?,
            };
            self.send_changes(revision, seal).await
        };
        let Err(error) = sent.await;
        error
    }

    /// Sends all users of one moment, and the revision of the last change that they show. Returns that and its seal.
    async fn send_snapshot(&self) -> Result<(i64, Option<SealReference>), AccountError> {
        let Ok(_turn) = self.accounts.watches.snapshots.acquire().await else {
            return Err(Reason::Internal.into());
        };
        let store = &self.accounts.store;
        let mut snapshot = store.snapshot().await?;
        while let Some(users) = snapshot.users.try_next().await? {
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
                let sent = timeout(SNAPSHOT_PATIENCE, self.send(WatchItem::Change(change))).await;
                sent.map_err(|_| Reason::Overloaded)??;
            }
        }
        let Snapshot { revision, seal, .. } = snapshot;
        let progress = WatchItem::Progress {
            revision,
            seal: seal.clone(),
        };
        self.send(progress).await?;
        Ok((revision, seal))
    }

    /// Sends the changes behind a revision, for as long as the watcher may watch and the record has the seals that were
    /// seen: another database may take the place of the one that this stream began with.
    async fn send_changes(
        &self,
        mut revision: i64,
        mut seen: Option<SealReference>,
    ) -> Result<Infallible, AccountError> {
        let mut news = self.accounts.watches.changed.subscribe();
        let (mut sent, mut progress_at) = (revision, Instant::now() + PROGRESS_INTERVAL);
        loop {
            self.accounts.check_watcher(&self.watcher).await?;
            let is_progress_due = Instant::now() >= progress_at;
            if *news.borrow_and_update() > revision || is_progress_due {
                // Known before the read of the changes, which finds every one up to it.
                let [_, newest] = self.accounts.store.seals().await?;
                let changes = self.accounts.store.changes_after(revision).await?;
                // After both reads, so that all three are of one record.
                if let Some(seen) = &seen
                    && !self.accounts.has_seal(seen).await?
                {
                    return Err(Reason::SnapshotRequired.into());
                }
                seen = SealReference::of(&newest);
                let last = changes.last().map(|last| last.revision);
                for change in changes {
                    self.send(WatchItem::Change(change)).await?;
                }
                if let Some(last) = last {
                    revision = last;
                    continue;
                }
                revision = revision.max(newest.revision);
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

    /// Waits for a slow caller only while the caller may watch.
    async fn send(&self, item: WatchItem) -> Result<(), AccountError> {
        loop {
            match timeout(2 * SEAL_INTERVAL, self.items.reserve()).await {
                Ok(Ok(permit)) => {
                    permit.send(Ok(item));
                    return Ok(());
                }
                Ok(Err(_gone)) => return Err(Reason::Internal.into()),
                Err(_slow) => drop(self.accounts.check_watcher(&self.watcher).await?),
            }
        }
    }
}
