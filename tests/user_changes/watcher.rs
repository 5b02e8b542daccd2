//! Watchers of user changes, which break off and continue.

use crate::{dice::Dice, history::State};
use e2e::grpc::authenticated;
use rolegate_proto::auth_v1::{
    UserChange, WatchProgress, WatchUsersRequest, WatchUsersResponse,
    auth_service_client::AuthServiceClient, watch_users_response::Item,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tonic::{Code, Status, Streaming};
use tonic_types::StatusExt as _;

/// How long a watcher waits before it tries another replica.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a watcher waits before the next attempt, if a replica cannot be reached.
const PAUSE: Duration = Duration::from_millis(20);
/// How many connections break off before the next snapshot, on average.
const CONNECTIONS_OF_SNAPSHOT: usize = 3;

/// A change as the watcher received it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) revision: i64,
    pub(crate) user_id: i64,
    pub(crate) state: State,
    pub(crate) at: Instant,
}

/// An item that a watcher stored.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    Change(Seen),
    Progress(i64),
    /// All users, and the revision of the last change that they show. `began` is a moment before
    /// the snapshot was requested.
    Snapshot {
        began: Instant,
        revision: i64,
        users: BTreeMap<i64, State>,
    },
}

pub(crate) struct Watcher {
    /// The addresses of both replicas.
    pub(crate) addresses: [String; 2],
    /// The credential of an admin.
    pub(crate) token: String,
    /// Whether the watcher begins with a snapshot, and takes more now and then.
    pub(crate) takes_snapshots: bool,
    pub(crate) dice: Dice,
}

/// The items that the watcher has stored so far, and where it continues.
#[derive(Default)]
struct Log {
    stored: Vec<Stored>,
    revision: i64,
    /// The seal that came last, which every replica has to know.
    seal: Option<String>,
    names: BTreeSet<String>,
}

impl Watcher {
    /// Watches until the user with the name in `last` is stored, once there is a name.
    pub(crate) async fn run(mut self, last: watch::Receiver<Option<String>>) -> Vec<Stored> {
        let mut log = Log::default();
        let has_ended = |log: &Log| {
            last.borrow()
                .as_ref()
                .is_some_and(|name| log.names.contains(name))
        };
        while !has_ended(&log) {
            let snapshot = self.takes_snapshots
                && (log.stored.is_empty() || self.dice.one_in(CONNECTIONS_OF_SNAPSHOT));
            let from = (!snapshot).then_some(log.revision);
            let began = Instant::now();
            let Some(stream) = self.open(from, log.seal.clone()).await else {
                sleep(PAUSE).await;
                continue;
            };
            self.follow(stream, &mut log, snapshot.then_some(began))
                .await;
        }
        log.stored
    }

    async fn open(
        &mut self,
        from_revision: Option<i64>,
        seal: Option<String>,
    ) -> Option<Streaming<WatchUsersResponse>> {
        let address = self.addresses[self.dice.below(self.addresses.len())].clone();
        let request = authenticated(
            WatchUsersRequest {
                from_revision,
                seal,
            },
            &self.token,
        );
        let opened = timeout(PATIENCE, async {
            let mut client = AuthServiceClient::connect(address).await.ok()?;
            Some(client.watch_users(request).await)
        });
        match opened.await.ok()?? {
            Ok(response) => Some(response.into_inner()),
            Err(status) => {
                expect_outage(&status);
                None
            }
        }
    }

    /// Stores items until the stream ends, some time has passed, or some items have come.
    async fn follow(
        &mut self,
        mut stream: Streaming<WatchUsersResponse>,
        log: &mut Log,
        snapshot: Option<Instant>,
    ) {
        let items = 1 + self.dice.below(100);
        let millis = 20 + u64::try_from(self.dice.below(500)).expect("small");
        // The watcher may break off after it received an item and before it stored it. The item
        // then comes again.
        let forgets_last = self.dice.one_in(2);
        if let Some(began) = snapshot {
            let taken = timeout(PATIENCE, take_snapshot(&mut stream)).await;
            let Some((WatchProgress { revision, seal }, users)) = taken.ok().flatten() else {
                return;
            };
            log.note_seal(seal);
            log.names
                .extend(users.values().map(|state| state.username.clone()));
            log.store(
                Stored::Snapshot {
                    began,
                    revision,
                    users,
                },
                revision,
            );
        }
        let followed = timeout(Duration::from_millis(millis), async {
            for number in 1..=items {
                let Some(item) = next(&mut stream).await else {
                    return;
                };
                if forgets_last && number == items {
                    return;
                }
                match item {
                    Item::Change(change) => {
                        log.names.insert(change.username.clone());
                        log.note_seal(change.seal.clone());
                        let seen = seen(change);
                        let revision = seen.revision;
                        log.store(Stored::Change(seen), revision);
                    }
                    Item::Progress(progress) => {
                        log.note_seal(progress.seal);
                        log.store(Stored::Progress(progress.revision), progress.revision);
                    }
                }
            }
        });
        let _ = followed.await;
    }
}

impl Log {
    fn note_seal(&mut self, seal: Option<String>) {
        assert!(seal.is_some(), "each item behind a snapshot has a seal");
        self.seal = seal;
    }

    fn store(&mut self, item: Stored, revision: i64) {
        self.stored.push(item);
        self.revision = revision;
    }
}

async fn take_snapshot(
    stream: &mut Streaming<WatchUsersResponse>,
) -> Option<(WatchProgress, BTreeMap<i64, State>)> {
    let (mut users, mut last) = (BTreeMap::new(), 0);
    loop {
        match next(stream).await? {
            Item::Change(change) => {
                assert_eq!(change.revision, 0, "{change:?} in a snapshot");
                assert!(change.user_id > last, "{change:?} behind the user {last}");
                last = change.user_id;
                users.insert(change.user_id, seen(change).state);
            }
            Item::Progress(progress) => return Some((progress, users)),
        }
    }
}

/// Returns the next item, or `None` if the stream ends.
async fn next(stream: &mut Streaming<WatchUsersResponse>) -> Option<Item> {
    match stream.message().await {
        Ok(response) => response.and_then(|response| response.item),
        Err(status) => {
            expect_outage(&status);
            None
        }
    }
}

fn seen(change: UserChange) -> Seen {
    let UserChange {
        revision,
        user_id,
        username,
        role_name,
        disabled,
        deleted,
        ..
    } = change;
    let state = State {
        username,
        role: role_name,
        disabled,
        deleted,
    };
    Seen {
        revision,
        user_id,
        state,
        at: Instant::now(),
    }
}

/// Asserts that the replica is out of service, instead of refusing the watcher with a reason.
fn expect_outage(status: &Status) {
    let outages = [
        Code::Unavailable,
        Code::DeadlineExceeded,
        Code::ResourceExhausted,
    ];
    let has_reason = status.get_details_error_info().is_some();
    assert!(
        !has_reason || outages.contains(&status.code()),
        "{status:?}"
    );
}
