//! One replica of a service: kept connected, with its health watched.

use crate::{
    cause::{self, ConnectError},
    connection::{Connection, open},
    discovery::{Discover, ServiceInfo},
    replica_set::{Calls, ReplicaSet, ReplicaState},
};
use http::{Request, uri::Scheme};
use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};
use tokio::{
    select,
    time::{Instant, sleep, timeout},
};
use tonic::{Status, Streaming, body::Body};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_client::HealthClient,
};
use tower::service_fn;

/// For connecting to a replica and receiving its first health status.
pub(crate) const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
/// For the health of a replica with a slow call that may have work to do.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// The pause between two attempts to connect, even while calls wait.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
/// The pause while no call waits; doubled up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// For the error of a connection whose first call failed.
const FAILURE_TIMEOUT: Duration = Duration::from_millis(100);
/// A replica that refuses connections is logged only after this time: programs start together, and some
/// end at once with a line about a setting.
const START_PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Monitor {
    service: ServiceInfo,
    address: SocketAddr,
    discovery: Arc<dyn Discover>,
    pub(crate) calls: Arc<Calls>,
    /// Learns each state. While the replica is down, it ends the pause before the next attempt.
    set: Arc<ReplicaSet>,
}

/// The last status, and the stream of the next ones.
type Health = (HealthCheckResponse, Streaming<HealthCheckResponse>);

impl Monitor {
    pub(crate) fn new(
        service: ServiceInfo,
        address: SocketAddr,
        discovery: &Arc<dyn Discover>,
        set: &Arc<ReplicaSet>,
    ) -> Self {
        let (discovery, set) = (Arc::clone(discovery), Arc::clone(set));
        Self {
            service,
            address,
            discovery,
            calls: Arc::default(),
            set,
        }
    }

    /// Reports each change of state, until dropped. Health comes from `grpc.health.v1`, whose `Watch`
    /// stream sends every change and ends with the connection.
    pub(crate) async fn run(self) {
        let site = (self.service.program, self.address);
        let mut backoff = MIN_BACKOFF;
        let mut down_since = Instant::now();
        loop {
            // Created before the attempt: a notification during an attempt that fails starts the
            // next one.
            let notified = self.set.reconnect.notified();
            let started = Instant::now();
            let error = match timeout(HEALTH_TIMEOUT, self.connect()).await {
                Ok(Ok((connection, health))) => {
                    if cause::forget(site) {
                        tracing::info!(address = %self.address, "connected to {}", site.0);
                    }
                    self.follow_health(&connection, health).await;
                    // The replica stops, or the connection broke. Only a new connection tells which;
                    // it takes milliseconds, and calls without another replica wait for it instead of
                    // failing on this one. Calls in flight may still complete.
                    self.report(ReplicaState::Down);
                    down_since = Instant::now();
                    if started.elapsed() > MAX_BACKOFF {
                        backoff = MIN_BACKOFF;
                        continue;
                    }
                    None
                }
                Ok(Err(error)) => Some(error),
                Err(_elapsed) => Some(ConnectError::Stream(io::ErrorKind::TimedOut.into())),
            };
            self.report(ReplicaState::Down);
            let is_due = |error: &ConnectError| {
                !error.is_refused() || down_since.elapsed() >= START_PATIENCE
            };
            // Callers see only an outage; what an operator can mend is in the log. Streams within the
            // process have nothing to mend.
            if let Some(error) = error.filter(|error| self.address.port() != 0 && is_due(error)) {
                cause::log(site, self.is_encrypted(), &error);
            }
            sleep(MIN_RETRY_DELAY).await;
            let _ = timeout(backoff, notified).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    fn report(&self, state: ReplicaState) {
        self.set.update(self.address, state);
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.discovery.origin().scheme() == Some(&Scheme::HTTPS)
    }

    pub(crate) async fn connect(&self) -> Result<(Connection, Health), ConnectError> {
        let stream = self
            .discovery
            .connect(self.address)
            .await
            .map_err(ConnectError::Stream)?;
        let (connection, failure) = open(stream).await.map_err(ConnectError::Http2)?;
        match self.watch_health(&connection).await {
            Ok(health) => Ok((connection, health)),
            Err(status) => {
                drop(connection);
                // What ended the connection says more than the status of its call.
                Err(match timeout(FAILURE_TIMEOUT, failure).await {
                    Ok(Ok(error)) => ConnectError::Http2(error),
                    _ => ConnectError::Health(status),
                })
            }
        }
    }

    /// Opens a health stream, which begins with the present status.
    async fn watch_health(&self, connection: &Connection) -> Result<Health, Status> {
        let transport = connection.clone();
        let transport = service_fn(move |request: Request<Body>| transport.clone().send(request));
        let service = self.service.health_name.to_owned();
        let mut updates = HealthClient::with_origin(transport, self.discovery.origin())
            .watch(HealthCheckRequest { service })
            .await?
            .into_inner();
        let first = updates.message().await?;
        Ok((
            first.ok_or_else(|| Status::unavailable("no health status"))?,
            updates,
        ))
    }

    /// Forwards health updates until the stream ends. When a call misses or is slow, asks for the health
    /// anew: a process that is stopped or starved reports nothing.
    async fn follow_health(&self, connection: &Connection, (mut status, mut updates): Health) {
        loop {
            let serving = status.status() == ServingStatus::Serving;
            self.report(ReplicaState::Up {
                connection: connection.clone(),
                serving,
            });
            let patience = select! {
                update = updates.message() => match update {
                    Ok(Some(next)) => {
                        status = next;
                        continue;
                    }
                    Ok(None) | Err(_) => return,
                },
                () = self.calls.missed.notified() => None,
                () = self.calls.slow.notified() => Some(PROBE_TIMEOUT),
            };
            match self.wait_for_health(connection, patience).await {
                Ok(anew) => (status, updates) = anew,
                Err(_broken) => return,
            }
        }
    }

    /// The health of a replica, as soon as it reports it. After `patience` it is unresponsive until then.
    async fn wait_for_health(
        &self,
        connection: &Connection,
        patience: Option<Duration>,
    ) -> Result<Health, Status> {
        let mut health = pin!(self.watch_health(connection));
        if let Some(patience) = patience {
            select! {
                health = &mut health => return health,
                () = sleep(patience) => {}
                () = self.calls.missed.notified() => {}
            }
        }
        self.report(ReplicaState::Unresponsive {
            connection: connection.clone(),
        });
        if let Ok(health) = timeout(HEALTH_TIMEOUT, &mut health).await {
            return health;
        }
        let (program, address) = (self.service.program, self.address);
        tracing::warn!("{program} at {address} does not answer and gets no calls until it does");
        let health = health.await?;
        tracing::info!("{program} at {address} answers again");
        Ok(health)
    }
}
