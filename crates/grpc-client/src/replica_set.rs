//! The known replicas, and which of them may be called.

use crate::{affinity::Affinity, connection::Connection};
use parking_lot::Mutex;
use std::{collections::HashMap, net::SocketAddr, sync::Arc};
use tokio::sync::{Notify, watch};

/// What the calls to a replica share with its monitor. Each call in flight holds a clone of the [`Arc`], so the number
/// of clones is the load of the replica.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Notified when a call was not answered in time.
    pub(crate) missed: Notify,
    /// Notified when a call takes long that may have to: a password waits its turn for seconds.
    pub(crate) slow: Notify,
}

#[derive(Clone, Debug)]
pub(crate) enum ReplicaState {
    Down,
    /// Connected. A replica that is not serving (it starts, stops, or lost its database) is the
    /// second choice.
    Up {
        connection: Connection,
        serving: bool,
    },
    /// Connected, but it missed a call and has reported no health since: the last choice.
    Unresponsive {
        connection: Connection,
    },
}

/// A replica that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub(crate) connection: Connection,
    /// Each call in flight holds a clone, by which it counts.
    pub(crate) calls: Arc<Calls>,
    /// The hash of its address.
    pub(crate) affinity: Affinity,
}

/// The replicas to choose from; `None` while none is up and the first health status of one is pending.
pub(crate) type Available = Option<Arc<Candidates>>;

#[derive(Debug)]
pub(crate) struct Candidates {
    /// The replicas for a call: those that serve. Where none serves, those that are up, whose errors say more
    /// than none, and at last those that missed.
    pub(crate) first_attempt: Vec<Replica>,
    /// The replicas for a call that was not answered in time: those that serve and those that missed, which
    /// may be slow only. Two that miss at the same moment still try each other.
    pub(crate) hedge: Vec<Replica>,
}

impl Candidates {
    /// The replica for calls about a key. One whose connection just broke is the last choice, also
    /// before its monitor notices.
    pub(crate) fn replica_for(&self, key: Affinity) -> Option<&Replica> {
        self.first_attempt.iter().max_by_key(|replica| {
            let is_open = !replica.connection.is_closed();
            (is_open, key.weight(replica.affinity))
        })
    }
}

/// What is known about the replica at an address.
#[derive(Debug, Default)]
pub(crate) struct ReplicaEntry {
    /// `None` before its first health status.
    pub(crate) state: Option<ReplicaState>,
    /// Calls in flight stay counted across reconnects.
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
    /// Changes the set with `change` and publishes what there is to choose from.
    pub(crate) fn change(&self, change: impl FnOnce(&mut HashMap<SocketAddr, ReplicaEntry>)) {
        let mut entries = self.entries.lock();
        change(&mut entries);
        let available = find_available(&entries);
        self.available.send_replace(available);
    }

    /// Records the state of a replica. Addresses dropped from DNS are ignored; their hosts are often
    /// dead.
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
