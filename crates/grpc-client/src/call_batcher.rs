//! Lets concurrent requests share calls, to any replica or to the replica of their key.

use crate::{
    CallError,
    affinity::Affinity,
    balancer::BalancedChannel,
    call::{CALL_TIMEOUT, Call},
};
use parking_lot::Mutex;
use rolegate_batcher::{Batcher, Limits};
use rolegate_proto::RequestId;
use std::{collections::HashMap, time::Duration};
use tokio::time::{Instant, timeout_at};

/// The maximum time that a call in flight delays the next call. If the call takes longer, for example because
/// its replica hangs, the next one is sent anyway.
const STALL_TIMEOUT: Duration = Duration::from_millis(20);
const MAX_IN_FLIGHT_STALLED: usize = 16;

/// The maximum number of batchers. Without this limit, the map would grow as replicas come and go. At the
/// limit, all batchers are removed. A batcher that was removed still answers the requests that wait for it.
const MAX_BATCHERS: usize = 64;

/// Batches requests `R`, which change nothing, into calls.
///
/// Each request has its own deadline of [`CALL_TIMEOUT`]. By the rule of [`rolegate_batcher`], a request
/// joins only a call that has not been sent, so its answer `A` is never older than the request.
#[derive(Clone, Debug)]
pub struct CallBatcher<R, A> {
    batcher: Batcher<Member<R>, Result<A, CallError>>,
}

/// A request in a batch.
struct Member<R> {
    request: R,
    deadline: Instant,
    request_id: Option<RequestId>,
}

impl<R: Send + 'static, A: Send + 'static> CallBatcher<R, A> {
    /// Creates a batcher of up to `max_batch_size` requests. `send` makes the call and returns one answer for
    /// each request, in the order of the requests. The deadline of the call is the latest of the requests, and the
    /// call has the ids of all of them.
    pub fn new<F>(
        max_batch_size: usize,
        send: impl Fn(Vec<R>, Call) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Vec<Result<A, CallError>>> + Send + 'static,
    {
        let limits = Limits {
            max_batch_size,
            // With one call at a time, batches are as large as possible, so that each request costs the least
            // work.
            max_in_flight: 1,
            stall_timeout: STALL_TIMEOUT,
            max_in_flight_stalled: MAX_IN_FLIGHT_STALLED,
        };
        let batcher = Batcher::new(limits, move |members: Vec<Member<R>>| {
            let deadline = members.iter().map(|member| member.deadline).max();
            let call = Call::read_for_all(
                members.iter().filter_map(|member| member.request_id),
                deadline.unwrap_or_else(Instant::now),
            );
            let requests = members.into_iter().map(|member| member.request).collect();
            send(requests, call)
        });
        // Callers may send, because these calls change nothing, so a caller that leaves may cancel its call.
        Self {
            batcher: batcher.let_callers_send(),
        }
    }

    /// Sends a request, at once or with the next call, and returns its answer. Fails with [`CallError::DeadlineExceeded`]
    /// after [`CALL_TIMEOUT`], and with [`CallError::Unavailable`] if too many requests wait or the batch is
    /// lost.
    pub async fn submit(&self, request: R, request_id: Option<RequestId>) -> Result<A, CallError> {
        let deadline = Instant::now() + CALL_TIMEOUT;
        let member = Member {
            request,
            deadline,
            request_id,
        };
        match timeout_at(deadline, self.batcher.submit(member)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_not_answered)) => Err(CallError::Unavailable),
            Err(_elapsed) => Err(CallError::DeadlineExceeded),
        }
    }
}

/// A batcher for each replica, so that a replica that hangs does not delay the requests to others.
#[derive(Debug)]
pub struct ReplicaBatchers<R, A> {
    channel: BalancedChannel,
    start: fn(BalancedChannel) -> CallBatcher<R, A>,
    by_replica: Mutex<HashMap<Affinity, CallBatcher<R, A>>>,
}

impl<R: Clone, A: Clone> ReplicaBatchers<R, A> {
    /// Creates an empty set. `start` creates the batcher of a replica. That batcher must send each batch to the
    /// replica of the first request's key. The other requests have the same replica, unless the replicas have
    /// changed meanwhile.
    pub fn new(channel: BalancedChannel, start: fn(BalancedChannel) -> CallBatcher<R, A>) -> Self {
        Self {
            channel,
            start,
            by_replica: Mutex::default(),
        }
    }

    /// Returns the batcher for the replica that calls about `key` go to, and creates it if it is missing.
    /// Returns `None` while no replica is up.
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
