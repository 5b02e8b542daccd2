//! A channel to every replica behind a DNS name.
//!
//! The name is resolved again and again, so that replicas may come and go. A call goes to the serving
//! replica with the fewest calls in flight, or to the one of its key ([`crate::affinity`]). One that
//! changes nothing and is not answered in time goes to another replica too. Where none is reachable, it
//! fails early, before its deadline.

use crate::{
    affinity::Affinity,
    client_span,
    connection::Stream,
    discovery::{Discover, DnsTarget, InvalidAddress, ServiceInfo, Single},
    dns_watcher,
    hedge::{HedgePolicy, MAX_DELAY, ReadOnly, first_success},
    replica::HEALTH_TIMEOUT,
    replica_set::{Available, Calls, Replica, ReplicaSet},
};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use rolegate_grpc_tls::ClientTls;
use std::{
    io,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
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

/// For one more attempt to reconnect when no replica is up. A replica that refuses answers sooner.
const RECHECK_TIMEOUT: Duration = Duration::from_millis(100);

/// The transport of a generated client. Clones share the connections, which close with the last clone.
///
/// It sets the scheme and the authority of each request, so clients need no origin. Errors are
/// [`Status`]es: UNAVAILABLE where no replica is up, and tonic's mapping of a broken connection.
#[derive(Clone, Debug)]
pub struct BalancedChannel {
    shared: Arc<Shared>,
    /// Of the key that calls are about.
    affinity: Option<Affinity>,
}

#[derive(Debug)]
struct Shared {
    set: Arc<ReplicaSet>,
    /// Where the next choice starts: equally loaded replicas take turns.
    next_index: AtomicUsize,
    hedging: HedgePolicy,
    origin: Uri,
    /// Ends when this is dropped.
    _watcher: JoinSet<()>,
}

type Answer = Result<Response<Body>, Status>;

#[derive(Debug)]
struct Pick {
    replica: Replica,
    /// Whether a call that it does not answer could be sent to another one.
    has_others: bool,
}

impl BalancedChannel {
    /// Connects in the background to every replica behind `address`, such as
    /// `http://auth-service:50051` without TLS or `https://auth-service:50051` with TLS. The
    /// certificate of every replica must be for that host. Needs a tokio runtime.
    pub fn connect_lazy(
        service: ServiceInfo,
        address: &str,
        tls: Option<ClientTls>,
    ) -> Result<Self, InvalidAddress> {
        DnsTarget::parse(service, address, tls).map(|it| Self::discover(service, Arc::new(it)))
    }

    /// Connects to a single replica over the streams that `connector` opens. Needs a tokio runtime.
    pub fn with_connector<F>(
        service: ServiceInfo,
        connector: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        Self::discover(service, Arc::new(Single(connector)))
    }

    fn discover(service: ServiceInfo, discovery: Arc<dyn Discover>) -> Self {
        Self::spawn(discovery.origin(), |set| {
            dns_watcher::run(service, discovery, set)
        })
    }

    /// Runs `watch`, which keeps the set of replicas current, until the last clone is dropped.
    fn spawn<F>(origin: Uri, watch: impl FnOnce(Arc<ReplicaSet>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let set = Arc::<ReplicaSet>::default();
        let shared = Shared {
            _watcher: JoinSet::from_iter([watch(Arc::clone(&set))]),
            set,
            next_index: AtomicUsize::new(0),
            hedging: HedgePolicy::default(),
            origin,
        };
        Self {
            shared: Arc::new(shared),
            affinity: None,
        }
    }

    /// The same channel for calls about `key`, a username for example: those of all clients go to the
    /// same replica, and after its loss to the next in an order of their own.
    #[must_use]
    pub fn for_key(&self, key: &str) -> Self {
        Self {
            affinity: Some(Affinity::of_key(key)),
            ..self.clone()
        }
    }

    /// Identifies the replica that calls about `key` go to now; `None` while none is up.
    pub(crate) fn replica_of(&self, key: &str) -> Option<u64> {
        let available = self.shared.set.available.borrow();
        available
            .as_ref()?
            .of_key(Affinity::of_key(key))
            .map(|replica| replica.affinity.0)
    }

    async fn pick(&self) -> Result<Pick, Status> {
        match self.choose() {
            Some(pick) => Ok(pick),
            // Boxed: most calls do not wait.
            None => Box::pin(self.wait_for_replica()).await,
        }
    }

    /// Waits for the first health status of new replicas and, where none is up, for one more attempt
    /// to connect, so that a replica that just came back is found.
    async fn wait_for_replica(&self) -> Result<Pick, Status> {
        let mut available = self.shared.set.available.subscribe();
        // Bounded, because replicas that appear one after the other can keep the set pending.
        let _ = timeout(HEALTH_TIMEOUT, available.wait_for(Option::is_some)).await;
        if let Some(pick) = self.choose() {
            return Ok(pick);
        }
        self.shared.set.reconnect.notify_waiters();
        let has_replica = |choice: &Available| {
            choice
                .as_ref()
                .is_some_and(|choice| !choice.first.is_empty())
        };
        let _ = timeout(RECHECK_TIMEOUT, available.wait_for(has_replica)).await;
        self.choose()
            .ok_or_else(|| Status::unavailable("no replica can be reached"))
    }

    fn choose(&self) -> Option<Pick> {
        let available = self.shared.set.available.borrow();
        let choice = available.as_ref()?;
        let replica = match self.affinity {
            Some(affinity) => choice.of_key(affinity).cloned(),
            None => self.least_loaded_of(&choice.first),
        };
        Some(Pick {
            replica: replica?,
            has_others: choice.again.len() > 1,
        })
    }

    /// Another replica than the one with these calls, for a call that it has not answered.
    fn least_loaded_except(&self, calls: &Arc<Calls>) -> Option<Replica> {
        let choice = self.shared.set.available.borrow().clone()?;
        let others = |all: &[Replica]| -> Vec<Replica> {
            all.iter()
                .filter(|replica| !Arc::ptr_eq(&replica.calls, calls))
                .cloned()
                .collect()
        };
        self.least_loaded_of(&others(&choice.first))
            .or_else(|| self.least_loaded_of(&others(&choice.again)))
    }

    fn least_loaded_of(&self, replicas: &[Replica]) -> Option<Replica> {
        let start = self.shared.next_index.fetch_add(1, Ordering::Relaxed) % replicas.len().max(1);
        let in_turn = replicas[start..].iter().chain(&replicas[..start]);
        in_turn
            .min_by_key(|replica| Arc::strong_count(&replica.calls))
            .cloned()
    }

    async fn send(self, request: Request<Body>) -> Answer {
        let Pick {
            replica,
            has_others,
        } = self.pick().await?;
        if !has_others {
            return self.send_to(replica, request).await;
        }
        // Boxed: without a second replica, a call has no room for two.
        if request.extensions().get::<ReadOnly>().is_some() {
            Box::pin(self.send_hedged(replica, request)).await
        } else {
            Box::pin(self.send_watched(replica, request)).await
        }
    }

    /// Sends a request that may change something, so only once. If it is slow and the replica does not
    /// report its health either, the replica gets no more calls until it does.
    async fn send_watched(&self, replica: Replica, request: Request<Body>) -> Answer {
        let calls = Arc::clone(&replica.calls);
        let mut response = pin!(self.send_to(replica, request));
        if let Ok(response) = timeout(MAX_DELAY, &mut response).await {
            return response;
        }
        calls.slow.notify_one();
        response.await
    }

    /// Sends a request to `replica` and, if it is not answered in time, once more to another one. The
    /// first answer counts; the other call is cancelled. A replica that missed is left out until its
    /// health stream answers.
    async fn send_hedged(&self, replica: Replica, request: Request<Body>) -> Answer {
        let hedging = &self.shared.hedging;
        let (head, message) = request.into_parts();
        let message = message.collect().await?.to_bytes();
        let copy = || Request::from_parts(head.clone(), Body::new(Full::new(message.clone())));
        let calls = Arc::clone(&replica.calls);
        let started = Instant::now();
        let mut first = pin!(self.send_to(replica, copy()));
        let response = match timeout(hedging.delay(), &mut first).await {
            Ok(response) => response,
            Err(_elapsed) => {
                calls.missed.notify_one();
                match self
                    .least_loaded_except(&calls)
                    .filter(|_| hedging.try_spend())
                {
                    Some(other) => first_success(first, self.send_to(other, copy())).await,
                    None => first.await,
                }
            }
        };
        hedging.record(started.elapsed());
        response
    }

    async fn send_to(&self, replica: Replica, mut request: Request<Body>) -> Answer {
        let Replica {
            connection, calls, ..
        } = replica;
        let mut target = self.shared.origin.clone().into_parts();
        target.path_and_query = request.uri().path_and_query().cloned();
        *request.uri_mut() =
            Uri::from_parts(target).map_err(|error| Status::internal(error.to_string()))?;
        let span = client_span::start(&mut request);
        let response = connection.send(request).instrument(span.clone()).await;
        client_span::finish(&span, &response);
        // The call counts as in flight until its response is read or dropped.
        Ok(response?.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _ = &calls;
                frame
            }))
        }))
    }
}

impl Service<Request<Body>> for BalancedChannel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    /// Always ready: a call waits for a replica by itself, within its own deadline.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

#[cfg(test)]
mod tests;
