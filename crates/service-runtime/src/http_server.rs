//! An HTTP/1.1 server with limits that `axum::serve` lacks: connections, time for a request head,
//! time between requests, time for a client to read, size of a head.

use crate::{
    head_deadline::{HeadDeadline, InRequest},
    incoming::{Accepted, Incoming},
    memory_budget::MemoryBudget,
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
    write_deadline::{HeldMemory, WriteDeadline},
};
use axum::{Router, extract::ConnectInfo};
use http::{HeaderValue, Request, header::CONNECTION};
use hyper::{body, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulConnection, GracefulShutdown},
};
use std::{convert::Infallible, net::SocketAddr, time::Duration};
use tokio::net::TcpStream;
use tower::ServiceExt;

const MAX_CONNECTIONS: usize = 10_000;

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
        Incoming::bind(variable, address, MAX_CONNECTIONS).await.map(Self)
    }

    /// The bound address, with the real port if the setting has port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves `router` until `shutdown` stops it, then finishes open requests within
    /// [`DRAIN_TIMEOUT`]. Handlers find the address of the peer as `ConnectInfo<SocketAddr>`.
    pub async fn serve(self, router: Router, shutdown: Shutdown) {
        let Self(mut incoming) = self;
        let address = incoming.address();
        let graceful = GracefulShutdown::new();
        let mut stopping = std::pin::pin!(shutdown.stopping());
        loop {
            let Accepted { stream, peer, permit } = tokio::select! {
                accepted = incoming.accept() => accepted,
                () = &mut stopping => break,
            };
            let connection = connection(stream, peer, router.clone(), shutdown.clone());
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%peer, %error, "connection ended early");
                }
                drop(permit);
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
) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
    let in_request = InRequest::default();
    let (reader, writer) = stream.into_split();
    let reader = HeadDeadline::new(reader, in_request.clone(), HEAD_TIMEOUT);
    let held = HeldMemory::default();
    let stream = tokio::io::join(reader, WriteDeadline::new(writer, held.clone()));
    let service = service_fn(move |mut request: Request<body::Incoming>| {
        in_request.set(true);
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = router.clone().oneshot(request);
        let (in_request, shutdown) = (in_request.clone(), shutdown.clone());
        let held = held.clone();
        async move {
            let mut response = response.await?;
            in_request.set(false);
            if let Some(budget) = response.extensions_mut().remove::<MemoryBudget>() {
                held.set(budget);
            }
            if shutdown.is_lame_duck() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
}
