//! Picks the replica for a call: the replica of its key ([`crate::affinity`]), or the replica with the fewest
//! calls in flight.

use crate::{
    affinity::Affinity,
    replica_monitor::HEALTH_TIMEOUT,
    replica_set::{Available, Calls, Replica, ReplicaSet},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;
use tonic::Status;

/// The maximum time that a call waits for one more attempt to reconnect if no replica is up.
pub(crate) const RECHECK_TIMEOUT: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Pick {
    pub(crate) replica: Replica,
    /// True if there is another replica, to which the call could be sent if this one does not answer.
    pub(crate) has_others: bool,
}

#[derive(Debug)]
pub(crate) struct Picker {
    set: Arc<ReplicaSet>,
    /// The index at which the next search starts, so that equally loaded replicas take turns.
    next_index: AtomicUsize,
}

impl Picker {
    pub(crate) fn new(set: Arc<ReplicaSet>) -> Self {
        Self {
            set,
            next_index: AtomicUsize::new(0),
        }
    }

    /// Picks the replica for a call, which is about a key if `affinity` is set. If no replica is up, waits a
    /// moment for one, and fails with UNAVAILABLE if there still is none.
    pub(crate) async fn pick(&self, affinity: Option<Affinity>) -> Result<Pick, Status> {
        match self.try_pick(affinity) {
            Some(pick) => Ok(pick),
            // The future is boxed because most calls do not wait.
            None => Box::pin(self.wait_for_replica(affinity)).await,
        }
    }

    /// Waits until the first attempts to connect to new replicas have ended, at most [`HEALTH_TIMEOUT`]. If
    /// none of them is up, waits for one more attempt to connect, so that a replica that just came back is
    /// found. Fails with UNAVAILABLE if there still is none.
    async fn wait_for_replica(&self, affinity: Option<Affinity>) -> Result<Pick, Status> {
        let mut available = self.set.available.subscribe();
        // The wait has a limit, because replicas that appear one after the other can keep the set pending.
        let _ = timeout(HEALTH_TIMEOUT, available.wait_for(Option::is_some)).await;
        if let Some(pick) = self.try_pick(affinity) {
            return Ok(pick);
        }
        self.set.reconnect.notify_waiters();
        let has_replica = |available: &Available| match available {
            Some(candidates) => !candidates.first_attempt.is_empty(),
            None => false,
        };
        let _ = timeout(RECHECK_TIMEOUT, available.wait_for(has_replica)).await;
        self.try_pick(affinity)
            .ok_or_else(|| Status::unavailable("no replica can be reached"))
    }

    fn try_pick(&self, affinity: Option<Affinity>) -> Option<Pick> {
        let available = self.set.available.borrow();
        let candidates = available.as_ref()?;
        let replica = match affinity {
            Some(affinity) => candidates.replica_for(affinity).cloned(),
            None => self.pick_least_loaded(&candidates.first_attempt),
        };
        Some(Pick {
            replica: replica?,
            has_others: candidates.hedge.len() > 1,
        })
    }

    /// Picks a replica other than the one with these `calls`, for a call that was not answered in time. Prefers
    /// the replicas for first attempts. Returns `None` if there is no other replica.
    pub(crate) fn pick_other(&self, calls: &Arc<Calls>) -> Option<Replica> {
        let candidates = self.set.available.borrow().clone()?;
        let others = |replicas: &[Replica]| -> Vec<Replica> {
            replicas
                .iter()
                .filter(|replica| !Arc::ptr_eq(&replica.calls, calls))
                .cloned()
                .collect()
        };
        self.pick_least_loaded(&others(&candidates.first_attempt))
            .or_else(|| self.pick_least_loaded(&others(&candidates.hedge)))
    }

    fn pick_least_loaded(&self, replicas: &[Replica]) -> Option<Replica> {
        let start = self.next_index.fetch_add(1, Ordering::Relaxed) % replicas.len().max(1);
        let in_turn = replicas[start..].iter().chain(&replicas[..start]);
        in_turn
            .min_by_key(|replica| Arc::strong_count(&replica.calls))
            .cloned()
    }

    /// Returns the hash of the address of the replica to which calls about `key` go now, or `None` while no
    /// replica is up.
    pub(crate) fn replica_for(&self, key: Affinity) -> Option<Affinity> {
        let available = self.set.available.borrow();
        let replica = available.as_ref()?.replica_for(key)?;
        Some(replica.affinity)
    }
}
