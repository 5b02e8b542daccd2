//! Sends each call to a replica of a service.
//!
//! A DNS name leads to the replicas. It is resolved at intervals, so that replicas may come and go. A call goes
//! to the serving replica with the fewest calls in flight, or to the replica of its key ([`crate::affinity`]).
//! A read-only call that is not answered in time is sent once more, to another replica, if the budget of such
//! calls ([`crate::hedge`]) allows it. If no replica is reachable, a call fails after about two seconds.

use crate::{
    affinity::Affinity,
    client_span,
    connection::Stream,
    discovery::{Discover, DnsTarget, InvalidAddress, ServiceInfo, SingleReplica},
    dns_watcher,
    hedge::{HedgePolicy, MAX_DELAY as MAX_HEDGE_DELAY, ReadOnly, first_success},
    picker::{Pick, Picker},
    replica_set::{Replica, ReplicaSet},
};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use rolegate_grpc_tls::ClientTls;
use std::{
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};
use tonic::{Status, body::Body};
use tower::Service;
use tracing::Instrument as _;

/// The time after which the health of a replica is checked, if a call that may change something has no
/// response. A read-only call is sent once more after at most this time.
const SLOW_CALL_TIMEOUT: Duration = MAX_HEDGE_DELAY;

/// The transport of a generated client. Clones share the connections, which close with the last clone.
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
    picker: Picker,
    hedging: HedgePolicy,
    origin: Uri,
    /// The task that keeps the set of replicas current. The task ends when this field is dropped.
    _watcher: JoinSet<()>,
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
            picker: Picker::new(set),
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
        self.shared.picker.replica_for(Affinity::from_key(key))
    }

    async fn pick(&self) -> Result<Pick, Status> {
        self.shared.picker.pick(self.affinity).await
    }

    async fn send(self, request: Request<Body>) -> CallResult {
        let pick = self.pick().await?;
        if !pick.has_others {
            return self.send_to(pick.replica, request).await;
        }
        // The futures are boxed, so that a call without a second replica does not reserve memory for two
        // sends.
        if request.extensions().get::<ReadOnly>().is_some() {
            Box::pin(self.send_hedged(pick.replica, request)).await
        } else {
            Box::pin(self.send_watched(pick.replica, request)).await
        }
    }

    /// Sends a request once, because it may change something. If the response is slow, the monitor of the
    /// replica is notified and checks its health. A replica that does not answer this check in time is the last
    /// choice for calls until it does.
    async fn send_watched(&self, replica: Replica, request: Request<Body>) -> CallResult {
        // The load of a replica is the number of clones of its `calls`. This clone counts the call twice until
        // the response arrives. Calls to every replica are counted in this way, so the loads stay comparable.
        let in_flight = Arc::clone(&replica.calls);
        let mut response = pin!(self.send_to(replica, request));
        if let Ok(response) = timeout(SLOW_CALL_TIMEOUT, &mut response).await {
            return response;
        }
        in_flight.slow.notify_one();
        response.await
    }

    /// Sends a request to `replica`. If it is not answered in time, sends it once more, to another replica, if
    /// there is one and the budget allows it. The first successful response is used, and the other call is
    /// cancelled. A replica that did not answer in time is the last choice for calls until it reports its
    /// health.
    async fn send_hedged(&self, replica: Replica, request: Request<Body>) -> CallResult {
        let hedging = &self.shared.hedging;
        let (head, message) = request.into_parts();
        let message = message.collect().await?.to_bytes();
        let copy = || Request::from_parts(head.clone(), Body::new(Full::new(message.clone())));
        // This clone counts the call twice until the response arrives, as in `send_watched`.
        let in_flight = Arc::clone(&replica.calls);
        let started = Instant::now();
        let mut first = pin!(self.send_to(replica, copy()));
        let response = match timeout(hedging.delay(), &mut first).await {
            Ok(response) => response,
            Err(_elapsed) => {
                in_flight.missed.notify_one();
                // The budget of hedged calls is spent only if there is another replica.
                if let Some(other) = self.shared.picker.pick_other(&in_flight)
                    && hedging.try_spend()
                {
                    first_success(first, self.send_to(other, copy())).await
                } else {
                    first.await
                }
            }
        };
        hedging.record(started.elapsed());
        response
    }

    async fn send_to(&self, replica: Replica, mut request: Request<Body>) -> CallResult {
        let mut target = self.shared.origin.clone().into_parts();
        target.path_and_query = request.uri().path_and_query().cloned();
        *request.uri_mut() =
            Uri::from_parts(target).map_err(|error| Status::internal(error.to_string()))?;
        let span = client_span::start(&mut request);
        let response = replica
            .connection
            .send(request)
            .instrument(span.clone())
            .await;
        client_span::finish(&span, &response);
        // The closure owns this clone of `calls`, so the call counts as in flight until its response is read or
        // dropped.
        let in_flight = replica.calls;
        Ok(response?.map(|body| {
            Body::new(body.map_frame(move |frame| {
                // This reference makes the closure own `in_flight`.
                let _ = &in_flight;
                frame
            }))
        }))
    }
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
