//! Keeps one replica of a service connected, and watches its health.

use crate::{
    connect_error::ConnectError,
    connection::{Connection, NewConnection, open},
    discovery::{Discover, ServiceInfo},
    failure_log::{self, ReplicaName},
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

/// The maximum time to connect to a replica and to receive its first health status.
pub(crate) const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
/// The time that a replica with a slow call has to report its health. Until then, it does not count as
/// unresponsive, because it may only be busy with that call.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// The minimum delay between two attempts to connect, even while calls wait.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
/// The first delay between attempts while no call waits. It doubles up to [`MAX_BACKOFF`].
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// The maximum time to wait for the error of a connection whose first call failed.
const FAILURE_TIMEOUT: Duration = Duration::from_millis(100);
/// The time after the start, or after the loss of a connection, for which refused connections are not logged.
/// Programs are often started together, and a program that ends at once because of a wrong setting should log
/// only that setting.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct ReplicaMonitor {
    service: ServiceInfo,
    address: SocketAddr,
    discovery: Arc<dyn Discover>,
    pub(crate) calls: Arc<Calls>,
    /// The set to which each change of state is reported. While the replica is down, a call that finds no
    /// replica notifies the monitor through the set, which ends the delay before the next attempt.
    set: Arc<ReplicaSet>,
}

/// A connection whose replica has reported its health.
pub(crate) struct HealthyConnection {
    connection: Connection,
    pub(crate) health: HealthWatch,
}

/// The latest health status, and the stream of further statuses.
pub(crate) struct HealthWatch {
    pub(crate) status: HealthCheckResponse,
    updates: Streaming<HealthCheckResponse>,
}

impl ReplicaMonitor {
    pub(crate) fn new(
        service: ServiceInfo,
        address: SocketAddr,
        discovery: &Arc<dyn Discover>,
        set: &Arc<ReplicaSet>,
    ) -> Self {
        Self {
            service,
            address,
            discovery: Arc::clone(discovery),
            calls: Arc::default(),
            set: Arc::clone(set),
        }
    }

    /// Connects to the replica, again and again if needed, and reports each change of its state until this
    /// future is dropped. The health comes from `grpc.health.v1`, whose `Watch` stream sends every change and
    /// ends with the connection.
    pub(crate) async fn run(self) {
        let mut backoff = MIN_BACKOFF;
        let mut down_since = Instant::now();
        loop {
            // The listener is created before the attempt, so that a notification during a failed attempt starts
            // the next one at once.
            let reconnect = self.set.reconnect.notified();
            let started = Instant::now();
            let attempt = match timeout(HEALTH_TIMEOUT, self.connect()).await {
                Ok(attempt) => attempt,
                Err(_elapsed) => Err(ConnectError::Stream(io::ErrorKind::TimedOut.into())),
            };
            match attempt {
                Ok(HealthyConnection { connection, health }) => {
                    if failure_log::forget(self.name()) {
                        let program = self.service.program;
                        tracing::info!(address = %self.address, "connected to {program}");
                    }
                    self.follow_health(&connection, health).await;
                    // Either the replica is stopping, or the connection broke, and only a new connection shows
                    // which. A new connection takes milliseconds, and calls without another replica wait for it
                    // instead of failing on the old one. Calls in flight may still complete.
                    self.report(ReplicaState::Down);
                    down_since = Instant::now();
                    if started.elapsed() > MAX_BACKOFF {
                        backoff = MIN_BACKOFF;
                        continue;
                    }
                }
                Err(error) => {
                    self.report(ReplicaState::Down);
                    self.log_failure(&error, down_since);
                }
            }
            sleep(MIN_RETRY_DELAY).await;
            let _ = timeout(backoff, reconnect).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    fn name(&self) -> ReplicaName {
        ReplicaName {
            program: self.service.program,
            address: self.address,
        }
    }

    /// Logs a failure that an operator can fix, because callers see only an outage.
    fn log_failure(&self, error: &ConnectError, down_since: Instant) {
        let may_be_starting = error.is_refused() && down_since.elapsed() < STARTUP_TIMEOUT;
        // Streams within the process have port 0, and an operator can fix nothing there.
        let is_in_process = self.address.port() == 0;
        if !may_be_starting && !is_in_process {
            failure_log::log(self.name(), self.is_encrypted(), error);
        }
    }

    fn report(&self, state: ReplicaState) {
        self.set.update(self.address, state);
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.discovery.origin().scheme() == Some(&Scheme::HTTPS)
    }

    pub(crate) async fn connect(&self) -> Result<HealthyConnection, ConnectError> {
        let stream = self
            .discovery
            .connect(self.address)
            .await
            .map_err(ConnectError::Stream)?;
        let NewConnection {
            connection,
            failure,
        } = open(stream).await.map_err(ConnectError::Http2)?;
        match self.watch_health(&connection).await {
            Ok(health) => Ok(HealthyConnection { connection, health }),
            Err(status) => {
                drop(connection);
                // The error that ended the connection says more than the status of its call.
                Err(match timeout(FAILURE_TIMEOUT, failure).await {
                    Ok(Ok(error)) => ConnectError::Http2(error),
                    _ => ConnectError::Health(status),
                })
            }
        }
    }

    /// Opens a health stream, and returns it with its first message, which is the current status.
    async fn watch_health(&self, connection: &Connection) -> Result<HealthWatch, Status> {
        let connection = connection.clone();
        let transport = service_fn(move |request: Request<Body>| connection.clone().send(request));
        let service = self.service.health_name.to_owned();
        let mut updates = HealthClient::with_origin(transport, self.discovery.origin())
            .watch(HealthCheckRequest { service })
            .await?
            .into_inner();
        match updates.message().await? {
            Some(status) => Ok(HealthWatch { status, updates }),
            None => Err(Status::unavailable("no health status")),
        }
    }

    /// Forwards health updates to the set until the stream ends. If a call is slow or not answered in time,
    /// this function requests the health again, because a process that is stopped or starved reports nothing.
    async fn follow_health(&self, connection: &Connection, mut health: HealthWatch) {
        loop {
            self.report(ReplicaState::Up {
                connection: connection.clone(),
                serving: health.status.status() == ServingStatus::Serving,
            });
            let grace = select! {
                update = health.updates.message() => match update {
                    Ok(Some(status)) => {
                        health.status = status;
                        continue;
                    }
                    Ok(None) | Err(_) => return,
                },
                () = self.calls.missed.notified() => None,
                () = self.calls.slow.notified() => Some(PROBE_TIMEOUT),
            };
            match self.ask_health_anew(connection, grace).await {
                Ok(answer) => health = answer,
                Err(_broken) => return,
            }
        }
    }

    /// Requests the health again, and returns it as soon as it arrives. Fails if the connection breaks. Until
    /// the health arrives, the replica counts as unresponsive: after `grace`, or after a call that is not
    /// answered in time. Without `grace`, it counts as unresponsive at once.
    async fn ask_health_anew(
        &self,
        connection: &Connection,
        grace: Option<Duration>,
    ) -> Result<HealthWatch, Status> {
        let mut health = pin!(self.watch_health(connection));
        if let Some(grace) = grace {
            select! {
                health = &mut health => return health,
                () = sleep(grace) => {}
                () = self.calls.missed.notified() => {}
            }
        }
        self.report(ReplicaState::Unresponsive {
            connection: connection.clone(),
        });
        if let Ok(health) = timeout(HEALTH_TIMEOUT, &mut health).await {
            return health;
        }
        let ReplicaName { program, address } = self.name();
        tracing::warn!("{program} at {address} does not answer and gets no calls until it does");
        let health = health.await?;
        tracing::info!("{program} at {address} answers again");
        Ok(health)
    }
}
