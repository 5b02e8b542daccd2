//! HTTP/1.1 connections under limits: how many, how long a head may take, how long they may idle,
//! and how they end. `axum::serve` has none of these.

use crate::{
    connection_deadlines::{ConnectionDeadlines, InRequest},
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use axum::{Router, extract::ConnectInfo, response::Response};
use http::{HeaderValue, Request, header::CONNECTION};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use std::{convert::Infallible, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tower::ServiceExt;

/// Further connections wait in the backlog of the kernel.
const MAX_CONNECTIONS: usize = 10_000;

/// In bytes.
const MAX_HEAD: usize = 64 * 1024;

/// From the first byte of a request head to its end.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Between two requests on one connection. Longer than the 60 s for which load balancers commonly
/// keep idle connections, so that it is they who close them.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);

/// For a client to accept the next part of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// A bound listener that does not accept yet.
#[derive(Debug)]
pub struct HttpListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl HttpListener {
    /// Binds the address that the setting `variable` gave.
    pub async fn bind(variable: &str, address: SocketAddr) -> Result<Self, SettingError> {
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            io::Result::Ok(Self { listener, address })
        };
        bound.await.map_err(|error| {
            SettingError::new(variable, format!("cannot listen on {address}: {error}"))
        })
    }

    /// The bound address; its port is the real one where the setting said 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `router` until `shutdown` says stop; then finishes what is in flight, for
    /// [`DRAIN_TIMEOUT`] at the most. Handlers find the peer's address as `ConnectInfo<SocketAddr>`.
    pub async fn serve(self, router: Router, shutdown: Shutdown) {
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut stopping = std::pin::pin!(shutdown.stopping());
        loop {
            let next = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, self.listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                next = next => next,
                () = &mut stopping => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    wait_out(&error).await;
                    continue;
                }
            };
            let connection = connection(stream, peer, router.clone(), shutdown.clone());
            let watched = graceful.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = watched.await {
                    tracing::debug!(%peer, %error, "connection ended early");
                }
                drop(place);
            });
        }
        drop(self.listener);
        if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
            tracing::warn!(address = %self.address, "connections were cut at the end of the drain time");
        }
    }
}

type Connection = http1::Connection<TokioIo<ConnectionDeadlines<TcpStream>>, PerConnection>;

fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    shutdown: Shutdown,
) -> Connection {
    // Small answers must not wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let in_request = InRequest::default();
    let stream = ConnectionDeadlines::new(stream, in_request.clone(), HEAD_TIMEOUT, WRITE_TIMEOUT);
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(
            TokioIo::new(stream),
            PerConnection { router, peer, in_request, shutdown },
        )
}

/// Answers the requests of one connection.
struct PerConnection {
    router: Router,
    peer: SocketAddr,
    in_request: InRequest,
    shutdown: Shutdown,
}

impl hyper::service::Service<Request<Incoming>> for PerConnection {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.in_request.set(true);
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let answer = self.router.clone().oneshot(request);
        let (in_request, shutdown) = (self.in_request.clone(), self.shutdown.clone());
        Box::pin(async move {
            let mut answer = answer.await?;
            in_request.set(false);
            if shutdown.is_lame_duck() {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(answer)
        })
    }
}

/// Errors of one connection pass at once; out of file descriptors needs a moment to pass.
async fn wait_out(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept connections");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
