//! One replica of a service: kept connected, with its health watched.

use crate::{
    connection::{Connector, open},
    discovery::ServiceInfo,
};
use http::{Request, Uri, uri::Scheme};
use hyper::client::conn::http2::SendRequest;
use std::{error::Error, sync::Arc, time::Duration};
use tokio::{
    sync::Notify,
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
/// The pause between two attempts to connect, even while calls wait.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
/// The pause while no call waits; doubled up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// The state of a replica.
#[derive(Clone, Debug)]
pub(crate) enum ReplicaState {
    /// Not reachable.
    Down,
    /// Connected. A replica that is not serving (it starts, stops, or lost its database) is the
    /// second choice.
    Up { connection: SendRequest<Body>, serving: bool },
}

/// Keeps a replica connected and reports each change of its state, until dropped. While it is down,
/// `reconnect` ends the pause before the next attempt. Health comes from `grpc.health.v1`, whose `Watch`
/// stream sends every change and ends with the connection.
pub(crate) async fn monitor(
    service: ServiceInfo,
    connector: Connector,
    origin: Uri,
    reconnect: Arc<Notify>,
    mut report: impl FnMut(ReplicaState),
) {
    let mut backoff = MIN_BACKOFF;
    let is_encrypted = origin.scheme() == Some(&Scheme::HTTPS);
    let mut last_error = String::new();
    loop {
        // Created before the attempt: a notification during an attempt that fails starts the next one.
        let notified = reconnect.notified();
        let started = Instant::now();
        match timeout(HEALTH_TIMEOUT, connect(service, &connector, &origin)).await {
            Ok(Ok((connection, health))) => {
                last_error.clear();
                watch_health(&connection, health, &mut report).await;
                // The replica stops, or the connection broke. Only a new connection tells which; it
                // takes milliseconds, and calls without another replica wait for it instead of failing
                // on this one. Calls in flight may still complete.
                report(ReplicaState::Down);
                if started.elapsed() > MAX_BACKOFF {
                    backoff = MIN_BACKOFF;
                    continue;
                }
            }
            // Certificate errors need an operator, and callers see only an outage.
            Ok(Err(error)) if is_encrypted && last_error != error_chain(&error) => {
                last_error = error_chain(&error);
                tracing::warn!(error = last_error, "no secure connection to {}", service.program);
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "connecting to {} failed", service.program);
            }
            Err(_elapsed) => tracing::debug!("connecting to {} timed out", service.program),
        }
        report(ReplicaState::Down);
        sleep(MIN_RETRY_DELAY).await;
        let _ = timeout(backoff, notified).await;
        backoff = (backoff * 2).min(MAX_BACKOFF);
    }
}

/// An error followed by its sources.
fn error_chain(error: &dyn Error) -> String {
    let source = error.source().map(error_chain).unwrap_or_default();
    format!("{error}{}{source}", if source.is_empty() { "" } else { ": " })
}

/// The first status, and the stream of the next ones.
type Health = (HealthCheckResponse, Streaming<HealthCheckResponse>);

async fn connect(
    service: ServiceInfo,
    connector: &Connector,
    origin: &Uri,
) -> Result<(SendRequest<Body>, Health), Status> {
    let stream = connector().await?;
    let connection = open(stream).await.map_err(|error| Status::from_error(error.into()))?;
    let transport = connection.clone();
    let transport =
        service_fn(move |request: Request<Body>| transport.clone().send_request(request));
    let request = HealthCheckRequest { service: service.health_name.to_owned() };
    let mut health =
        HealthClient::with_origin(transport, origin.clone()).watch(request).await?.into_inner();
    let first = health.message().await?.ok_or_else(|| Status::unavailable("no health status"))?;
    Ok((connection, (first, health)))
}

/// Forwards health updates until the stream ends.
async fn watch_health(
    connection: &SendRequest<Body>,
    (mut status, mut updates): Health,
    report: &mut impl FnMut(ReplicaState),
) {
    loop {
        let serving = status.status() == ServingStatus::Serving;
        report(ReplicaState::Up { connection: connection.clone(), serving });
        match updates.message().await {
            Ok(Some(next)) => status = next,
            Ok(None) | Err(_) => break,
        }
    }
}
