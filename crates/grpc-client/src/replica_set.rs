//! Holds the known replicas with their states, and the lists of replicas that calls may go to.

use crate::{affinity::Affinity, connection::Connection};
use parking_lot::Mutex;
use std::{collections::HashMap, net::SocketAddr, sync::Arc};
use tokio::sync::{Notify, watch};

/// The state that the calls to a replica share with its monitor. Each call in flight holds a clone of the
/// [`Arc`], so the number of clones is the load of the replica.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Notified when a read-only call was not answered in time.
    pub(crate) missed: Notify,
    /// Notified when a call that may change something is slow. The replica may still be healthy: a password can
    /// wait several seconds for its turn.
    pub(crate) slow: Notify,
}

#[derive(Clone, Debug)]
pub(crate) enum ReplicaState {
    Down,
    /// The replica is connected. If the replica is not serving, because it starts, stops or has lost its
    /// database, it is the second choice.
    Up {
        connection: Connection,
        serving: bool,
    },
    /// The replica is connected, but it did not answer a call in time and has not reported its health since. It
    /// is the last choice.
    Unresponsive {
        connection: Connection,
    },
}

/// A replica that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub(crate) connection: Connection,
    /// The counter of calls in flight: each call holds a clone of this [`Arc`].
    pub(crate) calls: Arc<Calls>,
    /// The hash of the replica's address.
    pub(crate) affinity: Affinity,
}

/// The replicas to choose from. `None` means that calls must wait: no replica is up, but the first attempt to
/// connect to at least one has not ended.
pub(crate) type Available = Option<Arc<Candidates>>;

#[derive(Debug)]
pub(crate) struct Candidates {
    /// The replicas for the first attempt of a call: the serving replicas. If there are none, the list has the
    /// other replicas that are up, because their errors say more than no response. If there are none of these
    /// either, it has the unresponsive replicas.
    pub(crate) first_attempt: Vec<Replica>,
    /// The replicas for a call that was not answered in time: the serving replicas, and the unresponsive ones,
    /// which may only be slow. If two replicas become unresponsive at the same moment, the calls to each can
    /// still be sent to the other.
    pub(crate) hedge: Vec<Replica>,
}

impl Candidates {
    /// Returns the replica for calls about a key; `None` if no replica is up. A replica whose connection just
    /// broke is the last choice, even before its monitor notices.
    pub(crate) fn replica_for(&self, key: Affinity) -> Option<&Replica> {
        self.first_attempt.iter().max_by_key(|replica| {
            let is_open = !replica.connection.is_closed();
            (is_open, key.weight(replica.affinity))
        })
    }
}

/// The state of the replica at an address.
#[derive(Debug, Default)]
pub(crate) struct ReplicaEntry {
    /// The reported state; `None` until the first attempt to connect has ended.
    pub(crate) state: Option<ReplicaState>,
    /// The counter of calls in flight, which survives reconnections.
    pub(crate) calls: Arc<Calls>,
}

#[derive(Debug, Default)]
pub(crate) struct ReplicaSet {
    pub(crate) entries: Mutex<HashMap<SocketAddr, ReplicaEntry>>,
    pub(crate) available: watch::Sender<Available>,
    /// Notified when a call finds no replica.
    pub(crate) reconnect: Notify,
}

impl ReplicaSet {
    /// Changes the set with `change`, and publishes the replicas to choose from.
    pub(crate) fn change(&self, change: impl FnOnce(&mut HashMap<SocketAddr, ReplicaEntry>)) {
        let mut entries = self.entries.lock();
        change(&mut entries);
        let available = find_available(&entries);
        self.available.send_replace(available);
    }

    /// Records the state of a replica. An address that was dropped from DNS is ignored, because its host is
    /// often dead.
    pub(crate) fn update(&self, address: SocketAddr, state: ReplicaState) {
        self.change(|entries| {
            if let Some(entry) = entries.get_mut(&address) {
                entry.state = Some(state);
            }
        });
    }
}

fn find_available(entries: &HashMap<SocketAddr, ReplicaEntry>) -> Available {
    let mut serving = Vec::new();
    let mut not_serving = Vec::new();
    let mut unresponsive = Vec::new();
    let mut has_pending = false;
    for (address, entry) in entries {
        let (connection, replicas) = match &entry.state {
            Some(ReplicaState::Up {
                connection,
                serving: true,
            }) => (connection, &mut serving),
            Some(ReplicaState::Up {
                connection,
                serving: false,
            }) => (connection, &mut not_serving),
            Some(ReplicaState::Unresponsive { connection }) => (connection, &mut unresponsive),
            Some(ReplicaState::Down) => continue,
            None => {
                has_pending = true;
                continue;
            }
        };
        replicas.push(Replica {
            connection: connection.clone(),
            calls: Arc::clone(&entry.calls),
            affinity: Affinity::from_address(*address),
        });
    }
    let hedge = [&*serving, &*unresponsive].concat();
    let first_attempt = [serving, not_serving, unresponsive]
        .into_iter()
        .find(|replicas| !replicas.is_empty())
        .unwrap_or_default();
    if first_attempt.is_empty() && has_pending {
        return None;
    }
    Some(Arc::new(Candidates {
        first_attempt,
        hedge,
    }))
}
