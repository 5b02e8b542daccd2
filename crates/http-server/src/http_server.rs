//! An HTTP/1.1 server with limits that `axum::serve` lacks: connections, time for a request head,
//! time between requests, time for a client to read, size of a head. With TLS, if configured.

use crate::{
    activity::Activity,
    address_limit::AddressLimit,
    head_deadline::HeadDeadline,
    incoming::{Accepted, Incoming},
    memory_budget::HeldMemory,
    open_connections::OpenConnections,
    refused_peer,
    watched_response::{WatchedBody, WatchedWriter},
    write_deadline::{HeldResponse, WriteDeadline},
};
use axum::{Router, extract::ConnectInfo};
use http::{HeaderValue, Request, header::CONNECTION};
use hyper::{body, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulConnection, GracefulShutdown, Watcher},
};
use rolegate_grpc_tls::{ServerTls, TlsAcceptor};
use rolegate_program::{
    descriptors,
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tower::ServiceExt;

const MAX_CONNECTIONS: usize = 10_000;

/// Of the probes: monitors and orchestrators.
const MAX_PROBE_CONNECTIONS: usize = 8;

/// Resolution of idle times.
const TICK: Duration = Duration::from_millis(100);

/// Bytes of a head. Every connection may take twice as many: for reading, and for writing.
const MAX_HEAD: usize = 16 * 1024;

/// From the first byte of a request head to its end, and for a TLS handshake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Between two requests on one connection. Longer than the 60 s for which load balancers commonly
/// keep idle connections, so that the balancer closes them and never sends into a closed one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);

/// A bound listener that does not accept yet.
#[derive(Debug)]
pub struct HttpListener {
    incoming: Incoming,
    tls: Option<Arc<ServerTls>>,
}

impl HttpListener {
    /// Binds the address of the setting `variable`.
    pub async fn bind(variable: &str, address: SocketAddr) -> Result<Self, SettingError> {
        let limit = MAX_CONNECTIONS.min(descriptors::per_listener());
        let incoming = Incoming::bind(variable, address, limit).await?;
        Ok(Self { incoming, tls: None })
    }

    /// Binds a listener for probes; its few connections are part of the reserve of file descriptors.
    pub async fn bind_for_probes(
        variable: &str,
        address: SocketAddr,
    ) -> Result<Self, SettingError> {
        let incoming = Incoming::bind(variable, address, MAX_PROBE_CONNECTIONS).await?;
        Ok(Self { incoming, tls: None })
    }

    /// Closes connections of an address beyond its limit.
    #[must_use]
    pub fn limit_per_address(self, limit: AddressLimit) -> Self {
        Self { incoming: self.incoming.limit_per_address(limit), ..self }
    }

    /// Requires TLS, if `tls` is given.
    #[must_use]
    pub fn with_tls(self, tls: Option<Arc<ServerTls>>) -> Self {
        Self { tls, ..self }
    }

    /// The bound address, with the real port if the setting has port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.incoming.address()
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address())
    }

    /// Serves `router` until `shutdown` stops it, then finishes open requests within
    /// [`DRAIN_TIMEOUT`]. At the limit, a newcomer replaces the connection that has been idle longest,
    /// never one with a request or a part of its head. The router checks
    /// [`host_header`](crate::host_header). Handlers find the address of the peer as `ConnectInfo<SocketAddr>`.
    pub async fn serve(self, router: Router, shutdown: Shutdown) {
        let Self { mut incoming, tls } = self;
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
            let tls = tls.as_ref().map(|tls| tls.acceptor());
            open.spawn(|activity, entry| {
                let service =
                    Service { peer, router: router.clone(), shutdown: shutdown.clone(), activity };
                let serving = service.serve(stream, tls, graceful.watcher());
                let task = tokio::spawn(async move {
                    serving.await;
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

/// What serves one connection.
struct Service {
    peer: SocketAddr,
    router: Router,
    shutdown: Shutdown,
    activity: Arc<Activity>,
}

impl Service {
    /// Serves the connection until it ends.
    async fn serve(self, stream: TcpStream, tls: Option<TlsAcceptor>, watcher: Watcher) {
        let peer = self.peer;
        let ended = match tls {
            None => {
                let (reader, writer) = stream.into_split();
                watcher.watch(self.connection(reader, writer)).await
            }
            // Boxed, or every connection would take the memory of one with TLS.
            Some(tls) => match Box::pin(timeout(HEAD_TIMEOUT, tls.accept(stream))).await {
                Ok(Ok(stream)) => {
                    let (reader, writer) = tokio::io::split(stream);
                    Box::pin(watcher.watch(self.connection(reader, writer))).await
                }
                Ok(Err(error)) => return refused_peer::log_handshake_error(peer, &error),
                Err(_elapsed) => return tracing::debug!(%peer, "the TLS handshake timed out"),
            },
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection ended early");
        }
    }

    fn connection(
        self,
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
        let Self { peer, router, shutdown, activity } = self;
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
}

#[cfg(test)]
mod tests;
