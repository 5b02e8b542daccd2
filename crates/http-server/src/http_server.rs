//! An HTTP/1.1 server with limits that `axum::serve` lacks, and with TLS if that is configured.
//!
//! It bounds the number of connections, the size of a request head and the time for it. It also bounds the time between
//! two requests, and the time that a client may take to read a response.

use crate::{
    connection::{GuardedStream, HEAD_TIMEOUT},
    listener::{AcceptedConnection, Listener, ReadyConnection, Stream},
    open_connections::{Activity, OpenConnections},
};
use axum::{Router, extract::ConnectInfo};
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, header::CONNECTION};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulConnection, GracefulShutdown, Watcher},
};
use rolegate_program::{
    descriptors,
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};
use tokio::time::Instant;
use tower::ServiceExt;

const MAX_CONNECTIONS: usize = 10_000;

/// The interval at which the clock of idle times advances, and so the resolution of idle times.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// The maximum size of a request head in bytes. A connection may take this memory twice: for reading and for writing.
const MAX_HEAD: usize = 16 * 1024;

/// The maximum time between two requests on one connection. It is longer than the 60 s for which load balancers
/// commonly keep idle connections. So the balancer closes idle connections itself, and never sends a request into one
/// that this server has closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);

/// Binds `address` for at most 10,000 connections of clients, or fewer if the limit of open files requires it. Errors
/// name the setting `variable`.
pub async fn bind(variable: &str, address: SocketAddr) -> Result<Listener, SettingError> {
    Listener::bind(
        variable,
        address,
        MAX_CONNECTIONS.min(descriptors::per_listener()),
    )
    .await
}

/// Serves `router` until `shutdown` stops it, then finishes open requests within [`DRAIN_TIMEOUT`].
///
/// At the limit of connections, a new one replaces the connection that has been idle longest, but never one that has
/// sent a part of a request. The router must refuse invalid requests with [`host_header`](crate::host_header), because
/// hyper does not. Handlers find the address of the peer as `ConnectInfo<SocketAddr>`.
#[must_use]
pub fn serve(mut listener: Listener, router: Router, shutdown: Shutdown) -> BoxFuture<'static, ()> {
    // The future is boxed because each crate that awaits an `async fn` compiles it anew, with all of hyper.
    Box::pin(async move {
        let address = listener.address();
        let graceful = GracefulShutdown::new();
        let mut stopping = std::pin::pin!(shutdown.stopping());
        let mut open = OpenConnections::default();
        let mut ticks = tokio::time::interval(TICK_INTERVAL);
        loop {
            let make_room = || {
                open.close_longest_idle();
            };
            let accepted = tokio::select! {
                accepted = listener.accept(make_room) => accepted,
                _ = ticks.tick() => {
                    open.tick();
                    continue;
                }
                () = &mut stopping => break,
            };
            let activity = open.open();
            let service = ConnectionService {
                router: router.clone(),
                peer: accepted.peer,
                activity: Arc::clone(&activity),
                shutdown: shutdown.clone(),
            };
            let task = tokio::spawn(serve_connection(accepted, service, graceful.watcher()));
            activity.set_task(task.abort_handle());
        }
        drop(listener);
        let drain = tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown());
        if drain.await.is_err() {
            tracing::warn!(%address, "drain timeout: open connections were closed");
        }
    })
}

/// Answers the requests of one connection with the router.
struct ConnectionService {
    router: Router,
    peer: SocketAddr,
    activity: Arc<Activity>,
    shutdown: Shutdown,
}

async fn serve_connection(
    accepted: AcceptedConnection,
    service: ConnectionService,
    watcher: Watcher,
) {
    let peer = accepted.peer;
    let handshake = accepted.handshake(Instant::now() + HEAD_TIMEOUT);
    let Some(ReadyConnection {
        stream,
        permit: _permit,
    }) = handshake.await
    else {
        return;
    };
    if let Err(error) = watcher.watch(http1_connection(stream, service)).await {
        tracing::debug!(%peer, %error, "connection ended early");
    }
}

fn http1_connection(
    stream: Stream,
    service: ConnectionService,
) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
    let stream = GuardedStream::new(stream, Arc::clone(&service.activity));
    let respond = service_fn(move |mut request: Request<Incoming>| {
        let is_open = service.activity.begin_request();
        request.extensions_mut().insert(ConnectInfo(service.peer));
        let response = service.router.clone().oneshot(request);
        let activity = Arc::clone(&service.activity);
        let shutdown = service.shutdown.clone();
        async move {
            if !is_open {
                // The accept loop is closing this connection and aborts its task, so the request must not be answered.
                std::future::pending::<()>().await;
            }
            let mut response = response.await?;
            if let Some(memory) = response.extensions_mut().remove() {
                activity.set_memory(memory);
            }
            if shutdown.is_lame_duck() {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
            }
            let guard = RequestGuard { activity };
            Ok::<_, Infallible>(response.map(|body| {
                body.map_err(move |error| {
                    let _ = &guard;
                    error
                })
            }))
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), respond)
}

/// Reports the end of the request when hyper drops the response body, because all of the body is then in the buffers of
/// the connection.
struct RequestGuard {
    activity: Arc<Activity>,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.activity.end_request();
    }
}

#[cfg(test)]
mod tests;
