//! Accepts connections for HTTP and gRPC, with caps on their number, and completes TLS handshakes.

use crate::{
    clients::{AddressLimit, AddressLimitReached, ClientSlot},
    refused_peer,
};
use rolegate_grpc_tls::{ServerTls, TlsStream};
use rolegate_program::{log_limiter::LogLimiter, settings::SettingError};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
#[cfg(not(simulation))]
use tokio::net::{TcpListener, TcpStream};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::either::Either;
#[cfg(simulation)]
use turmoil::net::{TcpListener, TcpStream};

/// The time for which the listener accepts no connections after an error that affects the whole process, such as
/// EMFILE.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The interval at which the listener tries again to make room for a connection that waits for a permit.
const MAKE_ROOM_INTERVAL: Duration = Duration::from_millis(20);

/// The minimum time between two log lines about the same cap, so that a flood does not fill the log.
const CAP_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A connection without or with TLS. The one with TLS is boxed because it takes much more memory.
pub type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A bound TCP socket and the connections that it accepts.
#[cfg_attr(not(simulation), derive(Debug))]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tls: Option<ServerTls>,
    permits: Arc<Semaphore>,
    per_address: Option<AddressLimit>,
    /// The connection that waits for room. It is kept here, so that a canceled [`Self::accept`] does not lose it.
    waiting: Option<WaitingConnection>,
    /// The time until which [`Self::accept`] accepts no connections, after an error that affects the whole process.
    paused_until: Option<Instant>,
    /// Limits the log lines about each cap separately. One peer can reach the cap of its address, and must not silence
    /// the line about the cap of the listener.
    cap_log: LogLimiter<Cap>,
}

/// A cap on open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cap {
    /// Limits all connections of a listener.
    Listener,
    /// Limits the connections of one address.
    Address,
}

/// `Debug` is implemented by hand, because the simulated socket does not implement it.
#[cfg(simulation)]
impl std::fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(formatter)
    }
}

/// A connection that the operating system has accepted, and that waits until the listener has room for it.
#[derive(Debug)]
struct WaitingConnection {
    stream: TcpStream,
    peer: SocketAddr,
    /// The slot of the peer's address; `None` if this address may have any number of connections.
    address_slot: Option<ClientSlot>,
}

/// A connection for which the listener has room.
#[derive(Debug)]
pub struct AcceptedConnection {
    stream: TcpStream,
    tls: Option<ServerTls>,
    /// The address of the peer.
    pub peer: SocketAddr,
    /// The permit, which must be held until the connection closes.
    pub permit: Permit,
}

/// Counts a connection against the caps until it is dropped.
#[derive(Debug)]
pub struct Permit {
    _address: Option<ClientSlot>,
    _connection: OwnedSemaphorePermit,
}

impl AcceptedConnection {
    /// Completes the TLS handshake, if the listener requires TLS. Returns `None` if the handshake fails or is not
    /// complete at `deadline`, and logs why.
    pub async fn handshake(self, deadline: Instant) -> Option<ReadyConnection> {
        let permit = self.permit;
        let Some(tls) = self.tls else {
            let stream = Either::Left(self.stream);
            return Some(ReadyConnection { stream, permit });
        };
        let peer = self.peer;
        // The handshake is boxed, because otherwise the task of every connection would have the size of one with TLS.
        match Box::pin(timeout_at(deadline, tls.acceptor().accept(self.stream))).await {
            Ok(Ok(stream)) => {
                let stream = Either::Right(Box::new(stream));
                return Some(ReadyConnection { stream, permit });
            }
            Ok(Err(error)) => refused_peer::log_handshake_error(peer, &error),
            Err(_elapsed) => tracing::debug!(%peer, "the TLS handshake timed out"),
        }
        None
    }
}

/// A connection whose TLS handshake, if it needs one, is complete.
#[derive(Debug)]
pub struct ReadyConnection {
    /// The stream to and from the peer, which hides TLS.
    pub stream: Stream,
    /// The permit, which must be held until the connection closes.
    pub permit: Permit,
}

impl Listener {
    /// Binds `address`. Errors name the setting `variable`.
    ///
    /// One connection beyond `max_connections` is accepted, and waits until the listener has room. Further connections
    /// wait in the backlog of the kernel.
    pub async fn bind(
        variable: &str,
        address: SocketAddr,
        max_connections: usize,
    ) -> Result<Self, SettingError> {
        let failed = |error: io::Error| {
            SettingError::new(variable, format!("cannot listen on {address}: {error}"))
                .transient_if_retryable(&error)
        };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        Ok(Self {
            address: socket.local_addr().map_err(failed)?,
            socket,
            tls: None,
            permits: Arc::new(Semaphore::new(max_connections)),
            per_address: None,
            waiting: None,
            paused_until: None,
            cap_log: LogLimiter::silent_when_full(2, CAP_LOG_INTERVAL),
        })
    }

    /// Limits the connections of each address. Connections beyond the limit are closed.
    #[must_use]
    pub fn limit_per_address(self, limit: AddressLimit) -> Self {
        Self {
            per_address: Some(limit),
            ..self
        }
    }

    /// Requires TLS if `tls` is given. Otherwise connections are plain text.
    #[must_use]
    pub fn with_tls(self, tls: Option<ServerTls>) -> Self {
        Self { tls, ..self }
    }

    /// Returns `true` if the listener requires TLS.
    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Returns the URL of the listener, with `http` or `https`.
    pub fn url(&self) -> String {
        let scheme = if self.has_tls() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the bound address, with the real port if the setting has port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts the next connection.
    ///
    /// While there is no room for it, calls `make_room` again and again, which may close an idle connection. This
    /// method is cancel-safe.
    pub async fn accept(&mut self, mut make_room: impl FnMut()) -> AcceptedConnection {
        loop {
            if self.waiting.is_none() {
                if let Some(until) = self.paused_until {
                    sleep_until(until).await;
                    self.paused_until = None;
                }
                match self.socket.accept().await {
                    Ok((stream, peer)) => self.waiting = self.admit(stream, peer),
                    Err(error) => self.handle_accept_error(&error, &mut make_room),
                }
                continue;
            }
            let connection_permit = self.acquire_permit(&mut make_room).await;
            if let Some(waiting) = self.waiting.take() {
                // Without `TCP_NODELAY`, a small message would wait until the peer acknowledges the previous one.
                let _ = waiting.stream.set_nodelay(true);
                return AcceptedConnection {
                    stream: waiting.stream,
                    tls: self.tls.clone(),
                    peer: waiting.peer,
                    permit: Permit {
                        _address: waiting.address_slot,
                        _connection: connection_permit,
                    },
                };
            }
        }
    }

    /// Returns the connection if its address may have one more. Otherwise the connection is dropped, which closes it,
    /// and the cap is logged.
    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) -> Option<WaitingConnection> {
        let address_slot = match &self.per_address {
            Some(limit) => limit.acquire(peer.ip()),
            None => Ok(None),
        };
        match address_slot {
            Ok(address_slot) => Some(WaitingConnection {
                stream,
                peer,
                address_slot,
            }),
            Err(AddressLimitReached { limit }) => {
                if self.cap_log.claim(Cap::Address) {
                    tracing::warn!(
                        address = %self.address, peer = %peer.ip(), limit,
                        "MAX_CONNECTIONS_PER_ADDRESS reached: further connections of this peer are closed"
                    );
                }
                None
            }
        }
    }

    /// Waits until the listener has room for one more connection. While there is no room, logs that the cap is reached,
    /// and calls `make_room` again and again, which may close another connection.
    async fn acquire_permit(&mut self, mut make_room: impl FnMut()) -> OwnedSemaphorePermit {
        // The first attempt does not wait, so that a listener at its cap makes room at once.
        let mut wait = Duration::ZERO;
        loop {
            // Acquiring fails only at the timeout, because the semaphore is never closed.
            let permit = Arc::clone(&self.permits).acquire_owned();
            if let Ok(Ok(permit)) = timeout(wait, permit).await {
                return permit;
            }
            if self.cap_log.claim(Cap::Listener) {
                tracing::warn!(
                    address = %self.address,
                    "connection limit reached: new connections replace idle ones, or wait"
                );
            }
            make_room();
            wait = MAKE_ROOM_INTERVAL;
        }
    }

    /// Handles a failed accept. If the error affects the whole process, logs it, makes room and pauses the listener.
    ///
    /// Such an error, for example EMFILE, lasts until the process closes something, and without a pause the loop would
    /// spin. An error of a single connection is ignored.
    fn handle_accept_error(&mut self, error: &io::Error, mut make_room: impl FnMut()) {
        if is_of_one_connection(error) {
            return;
        }
        tracing::error!(%error, "cannot accept connections");
        make_room();
        self.paused_until = Some(Instant::now() + ACCEPT_PAUSE);
    }
}

/// Returns `true` if accepting failed only because the next connection had already ended.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

#[cfg(test)]
mod tests;
