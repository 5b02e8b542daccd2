//! What is known of each replica, and what follows for callers.

use super::{Replica, Usable};
use crate::replica::{ServiceClient, State};
use std::{collections::HashMap, net::SocketAddr, sync::Arc};
use tokio::sync::{Notify, watch};

/// How a replica is, with what its calls hold; `None` before it has been heard of.
pub(super) type Known<C> = Option<(State<C>, Arc<()>)>;

/// What is known of each replica.
pub(super) struct Set<C> {
    pub(super) states: HashMap<SocketAddr, Known<C>>,
    publish: watch::Sender<Usable<C>>,
    wanted: Arc<Notify>,
}

impl<C: ServiceClient> Set<C> {
    pub(super) fn new(publish: watch::Sender<Usable<C>>, wanted: Arc<Notify>) -> Self {
        Self { states: HashMap::new(), publish, wanted }
    }

    /// Told when a caller has nowhere to go.
    pub(super) fn wanted(&self) -> &Arc<Notify> {
        &self.wanted
    }

    /// A new one, who has yet to say a first word.
    pub(super) fn expect(&mut self, address: SocketAddr) {
        self.states.insert(address, None);
    }

    /// One who has left.
    pub(super) fn forget(&mut self, address: SocketAddr) {
        self.states.remove(&address);
    }

    pub(super) fn learn(&mut self, address: SocketAddr, state: State<C>) {
        // Calls that are under way stay counted, whatever becomes of the replica.
        let known = self.states.get_mut(&address).and_then(Option::take);
        let calls = known.map_or_else(Arc::default, |(_, calls)| calls);
        self.states.insert(address, Some((state, calls)));
        self.publish();
    }

    /// Tells callers where they may go: open until somebody answers or all have failed. Never where
    /// they could go before: who left the name is often dead.
    pub(super) fn publish(&self) {
        let mut serving = Vec::new();
        let mut others = Vec::new();
        for (state, calls) in self.states.values().flatten() {
            if let State::Answers { client, serves } = state {
                let replica = Replica { client: client.clone(), calls: Arc::clone(calls) };
                if *serves { serving.push(replica) } else { others.push(replica) }
            }
        }
        let is_open = self.states.values().any(Option::is_none);
        let usable = if serving.is_empty() { others } else { serving };
        let news = (!usable.is_empty() || !is_open).then(|| usable.into());
        self.publish.send_replace(news);
    }
}
