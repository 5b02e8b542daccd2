//! The known replicas, and which of them may be called.

use crate::{affinity::Affinity, connection::Connection};
use parking_lot::Mutex;
use std::{collections::HashMap, net::SocketAddr, sync::Arc};
use tokio::sync::{Notify, watch};

/// The calls to a replica; each holds a clone.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Notified when one was not answered in time.
    pub(crate) missed: Notify,
    /// Notified when one takes long that may have to: a password waits its turn for seconds.
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

#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub(crate) connection: Connection,
    /// Each call in flight holds a clone.
    pub(crate) calls: Arc<Calls>,
    /// Of its address.
    pub(crate) affinity: Affinity,
}

/// The replicas to choose from; `None` while none is up and the first health status of one is pending.
pub(crate) type Available = Option<Arc<Choice>>;

#[derive(Debug)]
pub(crate) struct Choice {
    /// For a call: the serving replicas. Where none serves, those that are up, whose errors say more
    /// than none, and at last those that missed.
    pub(crate) first: Vec<Replica>,
    /// For a call that was not answered in time: the serving replicas and those that missed, which
    /// may be slow only. Two that miss at the same moment still try each other.
    pub(crate) again: Vec<Replica>,
}

impl Choice {
    /// The replica for calls about a key. One whose connection just broke is the last choice, also
    /// before its monitor notices.
    pub(crate) fn of_key(&self, key: Affinity) -> Option<&Replica> {
        let rank = |replica: &&Replica| {
            (
                !replica.connection.is_closed(),
                key.weight(replica.affinity),
            )
        };
        self.first.iter().max_by_key(rank)
    }
}

/// The state of a replica, `None` before its first health status, with the counter of its calls. Calls
/// in flight stay counted across reconnects.
pub(crate) type Known = (Option<ReplicaState>, Arc<Calls>);

#[derive(Debug, Default)]
pub(crate) struct ReplicaSet {
    pub(crate) states: Mutex<HashMap<SocketAddr, Known>>,
    pub(crate) available: watch::Sender<Available>,
    /// Notified when a call finds no replica.
    pub(crate) reconnect: Notify,
}

impl ReplicaSet {
    /// Changes the set with `change` and publishes what there is to choose from.
    pub(crate) fn change(&self, change: impl FnOnce(&mut HashMap<SocketAddr, Known>)) {
        let mut states = self.states.lock();
        change(&mut states);
        let mut choices: [Vec<Replica>; 3] = Default::default();
        for (address, (state, calls)) in states.iter() {
            let (connection, choice) = match state {
                Some(ReplicaState::Up {
                    connection,
                    serving: true,
                }) => (connection, 0),
                Some(ReplicaState::Up {
                    connection,
                    serving: false,
                }) => (connection, 1),
                Some(ReplicaState::Unresponsive { connection }) => (connection, 2),
                Some(ReplicaState::Down) | None => continue,
            };
            let (connection, calls) = (connection.clone(), Arc::clone(calls));
            let affinity = Affinity::of_replica(*address);
            choices[choice].push(Replica {
                connection,
                calls,
                affinity,
            });
        }
        let is_pending = states.values().any(|(state, _)| state.is_none());
        let again = [&*choices[0], &choices[2]].concat();
        let first = choices
            .into_iter()
            .find(|choice| !choice.is_empty())
            .unwrap_or_default();
        let is_known = !first.is_empty() || !is_pending;
        self.available
            .send_replace(is_known.then(|| Arc::new(Choice { first, again })));
    }

    /// Records the state of a replica. Addresses dropped from DNS are ignored; their hosts are often
    /// dead.
    pub(crate) fn update(&self, address: SocketAddr, state: ReplicaState) {
        self.change(|states| {
            if let Some((known, _)) = states.get_mut(&address) {
                *known = Some(state);
            }
        });
    }
}
