//! Requests about keys share calls to the replica of their key.

use crate::{affinity::Affinity, balancer::BalancedChannel, batch_call::CallBatcher};
use parking_lot::Mutex;
use std::collections::HashMap;

/// Bounds the batchers, because replicas come and go. A batcher that is forgotten still answers those who wait.
const MAX_BATCHERS: usize = 64;

/// One batcher for each replica, because one that hangs must not delay the requests of others.
#[derive(Debug)]
pub struct ReplicaBatchers<R, A> {
    channel: BalancedChannel,
    start: fn(BalancedChannel) -> CallBatcher<R, A>,
    by_replica: Mutex<HashMap<Affinity, CallBatcher<R, A>>>,
}

impl<R: Clone, A: Clone> ReplicaBatchers<R, A> {
    /// The batchers that `start` makes. All requests of a batch have the same replica, that of the key of the
    /// first, unless it is lost meanwhile.
    pub fn new(channel: BalancedChannel, start: fn(BalancedChannel) -> CallBatcher<R, A>) -> Self {
        Self {
            channel,
            start,
            by_replica: Mutex::default(),
        }
    }

    /// The batcher of the replica of this key; `None` while none is up.
    pub fn batcher_for(&self, key: &str) -> Option<CallBatcher<R, A>> {
        let replica = self.channel.replica_for(key)?;
        let mut by_replica = self.by_replica.lock();
        if by_replica.len() >= MAX_BATCHERS && !by_replica.contains_key(&replica) {
            by_replica.clear();
        }
        let start = || (self.start)(self.channel.clone());
        Some(by_replica.entry(replica).or_insert_with(start).clone())
    }
}
