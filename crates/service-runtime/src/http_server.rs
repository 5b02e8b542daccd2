//! An HTTP/1.1 server with limits that `axum::serve` lacks: connections, time for a request head,
//! time between requests, time for a client to read, size of a head.

use crate::{
    activity::Activity,
    address_limit::AddressLimit,
    descriptors,
    head_deadline::HeadDeadline,
    incoming::{Accepted, Incoming},
    memory_budget::HeldMemory,
    open_connections::OpenConnections,
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
    watched_response::{WatchedBody, WatchedWriter},
    write_deadline::{HeldResponse, WriteDeadline},
};
use axum::{Router, extract::ConnectInfo};
use http::{HeaderValue, Request, header::CONNECTION};
use hyper::{body, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulConnection, GracefulShutdown},
};
use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpStream;
use tower::ServiceExt;

const MAX_CONNECTIONS: usize = 10_000;

/// Of the probes: monitors and orchestrators.
const MAX_PROBE_CONNECTIONS: usize = 8;

/// Resolution of idle times.
const TICK: Duration = Duration::from_millis(100);

/// Bytes of a head. Every connection may take twice as many: for reading, and for writing.
const MAX_HEAD: usize = 16 * 1024;

/// From the first byte of a request head to its end.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Between two requests on one connection. Longer than the 60 s for which load balancers commonly
/// keep idle connections, so that the balancer closes them and never sends into a closed one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);

/// A bound listener that does not accept yet.
#[derive(Debug)]
pub struct HttpListener(Incoming);

impl HttpListener {
    /// Binds the address of the setting `variable`.
    pub async fn bind(variable: &str, address: SocketAddr) -> Result<Self, SettingError> {
        let limit = MAX_CONNECTIONS.min(descriptors::per_listener());
        Incoming::bind(variable, address, limit).await.map(Self)
    }

    /// Binds a listener for probes; its few connections are part of the reserve of file descriptors.
    pub async fn bind_for_probes(
        variable: &str,
        address: SocketAddr,
    ) -> Result<Self, SettingError> {
        Incoming::bind(variable, address, MAX_PROBE_CONNECTIONS).await.map(Self)
    }

    /// Closes connections of an address beyond its limit.
    #[must_use]
    pub fn limit_per_address(self, limit: AddressLimit) -> Self {
        Self(self.0.limit_per_address(limit))
    }

    /// The bound address, with the real port if the setting has port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves `router` until `shutdown` stops it, then finishes open requests within
    /// [`DRAIN_TIMEOUT`]. At the limit, a newcomer replaces the connection that has been idle longest,
    /// never one with a request or a part of its head. The router checks
    /// [`host_header`](crate::host_header). Handlers find the address of the peer as `ConnectInfo<SocketAddr>`.
    pub async fn serve(self, router: Router, shutdown: Shutdown) {
        let Self(mut incoming) = self;
        let address = incoming.address();
        let graceful = GracefulShutdown::new();
        let mut stopping = std::pin::pin!(shutdown.stopping());
        let open = OpenConnections::default();
        let mut ticks = tokio::time::interval(TICK);
        loop {
            let Accepted { stream, peer, permit } = tokio::select! {
                accepted = incoming.accept(|| open.close_longest_idle()) => accepted,
                _ = ticks.tick() => {
                    open.tick();
                    continue;
                }
                () = &mut stopping => break,
            };
            open.spawn(|activity, entry| {
                let connection =
                    connection(stream, peer, router.clone(), shutdown.clone(), activity);
                let connection = graceful.watch(connection);
                let task = tokio::spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%peer, %error, "connection ended early");
                    }
                    drop((permit, entry));
                });
                task.abort_handle()
            });
        }
        drop(incoming);
        if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
            tracing::warn!(%address, "drain timeout: open connections were closed");
        }
    }
}

fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    shutdown: Shutdown,
    activity: Arc<Activity>,
) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
    let (reader, writer) = stream.into_split();
    let reader = HeadDeadline::new(reader, Arc::clone(&activity), HEAD_TIMEOUT);
    let held = HeldResponse::default();
    let writer = WriteDeadline::new(writer, held.clone());
    let writer = WatchedWriter::new(writer, Arc::clone(&activity));
    let stream = tokio::io::join(reader, writer);
    let service = service_fn(move |mut request: Request<body::Incoming>| {
        let is_open = activity.begin_request();
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = router.clone().oneshot(request);
        let (activity, shutdown) = (Arc::clone(&activity), shutdown.clone());
        let held = held.clone();
        async move {
            if !is_open {
                // The end of its task closes the connection.
                std::future::pending::<()>().await;
            }
            let mut response = response.await?;
            held.set(response.extensions_mut().remove::<HeldMemory>());
            if shutdown.is_lame_duck() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response.map(|body| WatchedBody::new(body, activity)))
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
}

#[cfg(test)]
mod tests;
