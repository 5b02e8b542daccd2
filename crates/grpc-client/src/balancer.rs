//! Picks a replica of a service for each call, and sends the call to it.
//!
//! A DNS name leads to the replicas. It is resolved at intervals, so that replicas may come and go. A call goes
//! to the serving replica with the fewest calls in flight, or to the replica of its key ([`crate::affinity`]).
//! A read-only call that is not answered in time is sent once more, to another replica, if the budget of such
//! calls ([`crate::hedge`]) allows it. If no replica is reachable, a call
//! fails after 100 ms, or after up to two seconds while the first attempts to connect run.

use crate::{
    affinity::Affinity,
    client_span,
    connection::Stream,
    discovery::{Discover, DnsTarget, InvalidAddress, ServiceInfo, SingleReplica},
    dns_watcher,
    hedge::{HedgePolicy, ReadOnly, watch},
    replica_monitor::HEALTH_TIMEOUT,
    replica_set::{Available, Calls, Replica, ReplicaSet},
};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use rolegate_grpc_tls::ClientTls;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{task::JoinSet, time::timeout};
use tonic::{Status, body::Body};
use tower::Service;
use tracing::Span;

/// The maximum time that a call waits for one more attempt to reconnect if no replica is up.
const RECHECK_TIMEOUT: Duration = Duration::from_millis(100);

/// The transport of a client. Clones share the connections, which close with the last clone.
///
/// The channel sets the scheme and the authority of each request, so clients need no origin. Its errors are
/// [`Status`]es: UNAVAILABLE if no replica is up, and tonic's mapping for a broken connection.
#[derive(Clone, Debug)]
pub struct BalancedChannel {
    shared: Arc<Shared>,
    /// The hash of the key that the calls are about; `None` if the calls may go to any replica.
    affinity: Option<Affinity>,
}

#[derive(Debug)]
struct Shared {
    set: Arc<ReplicaSet>,
    /// The index at which the next search starts, so that equally loaded replicas take turns.
    next_index: AtomicUsize,
    hedging: HedgePolicy,
    origin: Uri,
    /// The task that keeps the set of replicas current. The task ends when this field is dropped.
    _watcher: JoinSet<()>,
}

#[derive(Debug)]
struct Pick {
    replica: Replica,
    /// True if there is another replica, to which the call could be sent if this one does not answer.
    has_others: bool,
}

type CallResult = Result<Response<Body>, Status>;

impl BalancedChannel {
    /// Connects in the background to every replica behind `address`, such as `http://auth-service:50051`
    /// without TLS or `https://auth-service:50051` with TLS. With TLS, the certificate of every replica must be
    /// valid for that host. Returns an error if `address` is not such a URL. The caller must be inside a tokio
    /// runtime.
    pub fn connect_lazy(
        service: ServiceInfo,
        address: &str,
        tls: Option<ClientTls>,
    ) -> Result<Self, InvalidAddress> {
        let target = DnsTarget::parse(service, address, tls)?;
        Ok(Self::discover(service, Arc::new(target)))
    }

    /// Connects to a single replica over the streams that `connector` opens. The caller must be inside a tokio
    /// runtime.
    pub fn with_connector<F>(
        service: ServiceInfo,
        connector: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        Self::discover(service, Arc::new(SingleReplica { connector }))
    }

    fn discover(service: ServiceInfo, discovery: Arc<dyn Discover>) -> Self {
        let set = Arc::<ReplicaSet>::default();
        let origin = discovery.origin();
        let watcher = dns_watcher::watch(service, discovery, Arc::clone(&set));
        let shared = Shared {
            set,
            next_index: AtomicUsize::new(0),
            hedging: HedgePolicy::default(),
            origin,
            _watcher: JoinSet::from_iter([watcher]),
        };
        Self {
            shared: Arc::new(shared),
            affinity: None,
        }
    }

    /// Returns this channel for calls about `key`, such as a username. The calls of all clients about one key
    /// go to the same replica. The key determines an order of the replicas, and if the first one is lost, all
    /// these calls go to the next one.
    #[must_use]
    pub fn for_key(&self, key: &str) -> Self {
        Self {
            affinity: Some(Affinity::from_key(key)),
            ..self.clone()
        }
    }

    /// Returns the replica to which calls about `key` go now, as the hash of its address; `None` while no
    /// replica is up.
    pub(crate) fn replica_for(&self, key: &str) -> Option<Affinity> {
        let available = self.shared.set.available.borrow();
        let replica = available.as_ref()?.replica_for(Affinity::from_key(key))?;
        Some(replica.affinity)
    }

    async fn send(self, mut request: Request<Body>) -> CallResult {
        let mut target = self.shared.origin.clone().into_parts();
        target.path_and_query = request.uri().path_and_query().cloned();
        *request.uri_mut() =
            Uri::from_parts(target).map_err(|error| Status::internal(error.to_string()))?;
        let pick = self.pick().await?;
        if pick.has_others {
            // The future is boxed, so that a call without a second replica does not reserve memory for two sends.
            return Box::pin(self.send_beside_others(pick.replica, request)).await;
        }
        send_to(pick.replica, request).await
    }

    /// Sends a request while other replicas are up, so that a replica that does not answer can be replaced.
    async fn send_beside_others(&self, replica: Replica, request: Request<Body>) -> CallResult {
        // The load of a replica is the number of clones of its `calls`. This clone counts the call twice until
        // the response arrives. Calls to every replica are counted in this way, so the loads stay comparable.
        let in_flight = Arc::clone(&replica.calls);
        if request.extensions().get::<ReadOnly>().is_none() {
            return watch(&in_flight, send_to(replica, request)).await;
        }
        let (head, message) = request.into_parts();
        let message = message.collect().await?.to_bytes();
        let copy = || Request::from_parts(head.clone(), Body::new(Full::new(message.clone())));
        let resend = || Some(send_to(self.pick_other(&in_flight)?, copy()));
        self.shared
            .hedging
            .hedge(&in_flight, send_to(replica, copy()), resend)
            .await
    }

    /// Picks the replica for a call. If no replica is up, waits a moment for one, and fails with UNAVAILABLE if
    /// there still is none.
    async fn pick(&self) -> Result<Pick, Status> {
        match self.try_pick() {
            Some(pick) => Ok(pick),
            // The future is boxed because most calls do not wait.
            None => Box::pin(self.wait_for_replica()).await,
        }
    }

    fn try_pick(&self) -> Option<Pick> {
        let available = self.shared.set.available.borrow();
        let candidates = available.as_ref()?;
        let replica = match self.affinity {
            Some(affinity) => candidates.replica_for(affinity).cloned(),
            None => self.pick_least_loaded(&candidates.first_attempt),
        };
        Some(Pick {
            replica: replica?,
            has_others: candidates.hedge.len() > 1,
        })
    }

    fn pick_least_loaded(&self, replicas: &[Replica]) -> Option<Replica> {
        let next_index = self.shared.next_index.fetch_add(1, Ordering::Relaxed);
        let start = next_index % replicas.len().max(1);
        let in_turn = replicas[start..].iter().chain(&replicas[..start]);
        in_turn
            .min_by_key(|replica| Arc::strong_count(&replica.calls))
            .cloned()
    }

    /// Picks a replica other than the one with these `calls`, for a call that was not answered in time. Prefers
    /// the replicas for first attempts. Returns `None` if there is no other replica.
    fn pick_other(&self, calls: &Arc<Calls>) -> Option<Replica> {
        let candidates = self.shared.set.available.borrow().clone()?;
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

    /// Waits until the first attempts to connect to new replicas have ended, at most [`HEALTH_TIMEOUT`]. If
    /// none of them is up, waits for one more attempt to connect, so that a replica that just came back is
    /// found. Fails with UNAVAILABLE if there still is none.
    async fn wait_for_replica(&self) -> Result<Pick, Status> {
        let set = &self.shared.set;
        let mut available = set.available.subscribe();
        // The wait has a limit, because replicas that appear one after the other can keep the set pending.
        let _ = timeout(HEALTH_TIMEOUT, available.wait_for(Option::is_some)).await;
        if let Some(pick) = self.try_pick() {
            return Ok(pick);
        }
        set.reconnect.notify_waiters();
        let has_replica = |available: &Available| match available {
            Some(candidates) => !candidates.first_attempt.is_empty(),
            None => false,
        };
        let _ = timeout(RECHECK_TIMEOUT, available.wait_for(has_replica)).await;
        self.try_pick()
            .ok_or_else(|| Status::unavailable("no replica can be reached"))
    }
}

/// Sends a request to a replica, with a span if the caller is traced.
async fn send_to(replica: Replica, request: Request<Body>) -> CallResult {
    let connection = replica.connection;
    let response = if Span::current().is_none() {
        connection.send(request).await?
    } else {
        Box::pin(client_span::trace(request, |request| {
            connection.send(request)
        }))
        .await?
    };
    // The closure owns this clone of `calls`, so the call counts as in flight until its response is read or
    // dropped.
    let in_flight = replica.calls;
    Ok(response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            // This reference makes the closure own `in_flight`.
            let _ = &in_flight;
            frame
        }))
    }))
}

impl Service<Request<Body>> for BalancedChannel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = CallResult> + Send>>;

    /// Is always ready, because `call` itself waits for a replica.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

#[cfg(test)]
mod tests;
