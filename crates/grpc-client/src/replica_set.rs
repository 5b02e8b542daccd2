//! The known replicas, and which of them may be called.

use crate::replica::ReplicaState;
use hyper::client::conn::http2::SendRequest;
use std::{collections::HashMap, net::SocketAddr, sync::Arc};
use tokio::sync::{Notify, watch};
use tonic::body::Body;

/// A replica that may be called.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub(crate) connection: SendRequest<Body>,
    /// Each call in flight holds a clone.
    pub(crate) calls: Arc<()>,
}

/// The replicas to choose from; `None` while none is up and the first health status of one is pending.
pub(crate) type Available = Option<Arc<[Replica]>>;

/// The state of a replica with the counter of its calls; `None` before its first health status.
pub(crate) type Known = Option<(ReplicaState, Arc<()>)>;

pub(crate) struct ReplicaSet {
    pub(crate) states: HashMap<SocketAddr, Known>,
    available: watch::Sender<Available>,
    /// Notified when a call finds no replica.
    pub(crate) reconnect: Arc<Notify>,
}

impl ReplicaSet {
    pub(crate) fn new(available: watch::Sender<Available>, reconnect: Arc<Notify>) -> Self {
        Self { states: HashMap::new(), available, reconnect }
    }

    pub(crate) fn insert(&mut self, address: SocketAddr) {
        self.states.insert(address, None);
    }

    pub(crate) fn remove(&mut self, address: SocketAddr) {
        self.states.remove(&address);
    }

    pub(crate) fn update(&mut self, address: SocketAddr, state: ReplicaState) {
        // Calls in flight stay counted across reconnects.
        let known = self.states.get_mut(&address).and_then(Option::take);
        let calls = known.map_or_else(Arc::default, |(_, calls)| calls);
        self.states.insert(address, Some((state, calls)));
        self.publish();
    }

    /// Publishes the serving replicas or, where none serves, those that are up: their errors say more
    /// than none. Addresses dropped from DNS are never used; their hosts are often dead.
    pub(crate) fn publish(&self) {
        let mut serving_replicas = Vec::new();
        let mut others = Vec::new();
        for (state, calls) in self.states.values().flatten() {
            if let ReplicaState::Up { connection, serving } = state {
                let list = if *serving { &mut serving_replicas } else { &mut others };
                list.push(Replica { connection: connection.clone(), calls: Arc::clone(calls) });
            }
        }
        let is_pending = self.states.values().any(Option::is_none);
        let available = if serving_replicas.is_empty() { others } else { serving_replicas };
        let is_known = !available.is_empty() || !is_pending;
        self.available.send_replace(is_known.then(|| available.into()));
    }
}
