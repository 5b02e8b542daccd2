//! An HTTP/1.1 server with limits that `axum::serve` lacks, and with TLS if that is configured.
//!
//! It bounds the number of connections, the size of a request head and the time for it. It also bounds the time between
//! two requests, and the time that a client may take to read a response. At the limit of connections, it closes the one
//! that has been idle longest.

use crate::{
    connection::{Activity, GuardedStream, HEAD_TIMEOUT, Ticks},
    listener::{AcceptedConnection, Listener, ReadyConnection, Stream},
};
use axum::{Router, body::Bytes, extract::ConnectInfo};
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, Response, header::CONNECTION};
use http_body_util::BodyExt as _;
use hyper::{
    body::{Body, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulConnection, GracefulShutdown, Watcher},
};
use rolegate_program::{
    descriptors,
    settings::SettingError,
    shutdown::{DRAIN_TIMEOUT, Shutdown},
};
use std::{
    collections::VecDeque,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Weak, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::time::Instant;
use tower::Service as _;

const MAX_CONNECTIONS: usize = 10_000;

/// The interval at which the clock of idle times advances, and so the resolution of idle times.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// The maximum number of candidates that one search collects. A flood of new connections needs many candidates, and
/// each search reads every connection.
const MAX_CANDIDATES: usize = 64;

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
            let connection = Connection {
                router: router.clone(),
                peer: accepted.peer,
                activity: open.open(),
                shutdown: shutdown.clone(),
            };
            let activity = Arc::clone(&connection.activity);
            let task = tokio::spawn(connection.serve(accepted, graceful.watcher()));
            activity.set_task(task.abort_handle());
        }
        drop(listener);
        let drain = tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown());
        if drain.await.is_err() {
            tracing::warn!(%address, "drain timeout: open connections were closed");
        }
    })
}

/// A connection, and what its requests need.
struct Connection {
    router: Router,
    peer: SocketAddr,
    activity: Arc<Activity>,
    shutdown: Shutdown,
}

impl Connection {
    /// Completes the TLS handshake, and serves the connection until it ends.
    async fn serve(self, accepted: AcceptedConnection, watcher: Watcher) {
        let peer = self.peer;
        let handshake = accepted.handshake(Instant::now() + HEAD_TIMEOUT);
        let Some(ReadyConnection {
            stream,
            permit: _permit,
        }) = handshake.await
        else {
            return;
        };
        if let Err(error) = watcher.watch(self.http1(stream)).await {
            tracing::debug!(%peer, %error, "connection ended early");
        }
    }

    fn http1(
        self,
        stream: Stream,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
        let stream = GuardedStream::new(stream, Arc::clone(&self.activity));
        let connection = Arc::new(self);
        let respond = service_fn(move |request| {
            let is_open = connection.activity.begin_request();
            let connection = Arc::clone(&connection);
            async move {
                if !is_open {
                    // The accept loop is closing this connection and aborts its task, so the request must not be
                    // answered.
                    std::future::pending::<()>().await;
                }
                connection.respond(request).await
            }
        });
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE_TIMEOUT)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), respond)
    }

    /// Answers a request with the router.
    async fn respond(
        self: Arc<Self>,
        mut request: Request<Incoming>,
    ) -> Result<Response<impl Body<Data = Bytes, Error = axum::Error>>, Infallible> {
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let mut response = self.router.clone().call(request).await?;
        if let Some(memory) = response.extensions_mut().remove() {
            self.activity.set_memory(memory);
        }
        if self.shutdown.is_lame_duck() {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        let guard = RequestGuard { connection: self };
        Ok(response.map(|body| {
            body.map_err(move |error| {
                let _ = &guard;
                error
            })
        }))
    }
}

/// Reports the end of the request when hyper drops the response body, because all of the body is then in the buffers of
/// the connection.
struct RequestGuard {
    connection: Arc<Connection>,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.connection.activity.end_request();
    }
}

/// A connection that was idle when it was found.
#[derive(Debug)]
struct Candidate {
    /// The tick since which the connection was idle.
    idle_since: u64,
    activity: Weak<Activity>,
}

/// The connections of one listener, for its accept loop.
#[derive(Debug, Default)]
struct OpenConnections {
    ticks: Ticks,
    /// The connections in the order in which they were opened, including some that have ended.
    all: Vec<Weak<Activity>>,
    /// The connections to close next, beginning with the one that has been idle longest.
    candidates: VecDeque<Candidate>,
}

impl OpenConnections {
    /// Advances the clock of idle times.
    fn tick(&self) {
        self.ticks.fetch_add(1, Relaxed);
    }

    /// Adds a connection. It counts as open until the returned activity is dropped.
    fn open(&mut self) -> Arc<Activity> {
        if self.all.len() == self.all.capacity() {
            self.all.retain(|connection| connection.strong_count() > 0);
            self.all.reserve(self.all.len() + 1);
        }
        let activity = Arc::new(Activity::new(&self.ticks));
        self.all.push(Arc::downgrade(&activity));
        activity
    }

    /// Closes the connection that has been idle longest. Returns `false` if none is idle.
    fn close_longest_idle(&mut self) -> bool {
        if self.close_candidate() {
            return true;
        }
        self.find_candidates();
        self.close_candidate()
    }

    fn close_candidate(&mut self) -> bool {
        while let Some(candidate) = self.candidates.pop_front() {
            if let Some(activity) = candidate.activity.upgrade()
                && activity.try_close(candidate.idle_since)
            {
                return true;
            }
        }
        false
    }

    fn find_candidates(&mut self) {
        // The pairs are ordered by the tick, and by the age of the connection if the ticks are equal.
        let mut idle = Vec::new();
        for (index, connection) in self.all.iter().enumerate() {
            if let Some(activity) = connection.upgrade()
                && let Some(idle_since) = activity.idle_since()
            {
                idle.push((idle_since, index));
            }
        }
        if idle.len() > MAX_CANDIDATES {
            idle.select_nth_unstable(MAX_CANDIDATES);
            idle.truncate(MAX_CANDIDATES);
        }
        idle.sort_unstable();
        self.candidates = idle
            .into_iter()
            .map(|(idle_since, index)| Candidate {
                idle_since,
                activity: Weak::clone(&self.all[index]),
            })
            .collect();
    }
}

#[cfg(test)]
mod tests;
