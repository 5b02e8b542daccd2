//! The accept loop of HTTP and gRPC: caps on connections, back-off on errors, `TCP_NODELAY`.

use crate::address_limit::{AddressLimit, AddressPermit};
use rolegate_program::settings::SettingError;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout},
};

/// Between two attempts to accept while the system is out of resources.
const BACK_OFF: Duration = Duration::from_millis(100);

/// At a cap, between two attempts to make room for a newcomer.
const ROOM_INTERVAL: Duration = Duration::from_millis(20);

/// Between two log lines about a cap: a flood must not fill the log.
const NOTICE_INTERVAL: Duration = Duration::from_secs(10);

/// A bound TCP socket and the connections that it accepts.
#[derive(Debug)]
pub struct Incoming {
    listener: TcpListener,
    address: SocketAddr,
    permits: Arc<Semaphore>,
    per_address: Option<AddressLimit>,
    /// Accepted, and waits for room.
    newcomer: Option<Box<Newcomer>>,
    /// After an error, nothing is accepted until then.
    paused_until: Option<Instant>,
    /// Of the cap on all connections.
    limit_notice: LastNotice,
    /// Of the cap per address, which one peer can reach: it must not hide the other.
    address_notice: LastNotice,
}

/// When a cap was last logged.
#[derive(Debug, Default)]
struct LastNotice(Option<Instant>);

#[derive(Debug)]
struct Newcomer {
    stream: TcpStream,
    peer: SocketAddr,
    permit: Option<AddressPermit>,
}

/// An accepted connection.
#[derive(Debug)]
pub struct Accepted {
    /// The connection.
    pub stream: TcpStream,
    /// The address of the peer.
    pub peer: SocketAddr,
    /// Held as long as the connection.
    pub permit: Permit,
}

/// Counts a connection against the caps until it is dropped.
#[derive(Debug)]
pub struct Permit {
    _connection: OwnedSemaphorePermit,
    _address: Option<AddressPermit>,
}

impl Incoming {
    /// Binds the address of the setting `variable`. Of more than `max_connections`, one waits for
    /// room and the others in the backlog of the kernel.
    pub async fn bind(
        variable: &str,
        address: SocketAddr,
        max_connections: usize,
    ) -> Result<Self, SettingError> {
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            io::Result::Ok(Self {
                listener,
                address,
                permits: Arc::new(Semaphore::new(max_connections)),
                per_address: None,
                newcomer: None,
                paused_until: None,
                limit_notice: LastNotice::default(),
                address_notice: LastNotice::default(),
            })
        };
        bound.await.map_err(|error| {
            SettingError::new(variable, format!("cannot listen on {address}: {error}"))
        })
    }

    /// Closes connections of an address beyond its limit.
    #[must_use]
    pub fn limit_per_address(self, limit: AddressLimit) -> Self {
        Self { per_address: Some(limit), ..self }
    }

    /// The bound address, with the real port if the setting has port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts the next connection. At a cap, `make_room` closes another one if it can, and is called
    /// until there is room. Cancel-safe.
    pub async fn accept(&mut self, make_room: impl Fn() -> bool) -> Accepted {
        loop {
            if self.newcomer.is_none() {
                if let Some(until) = self.paused_until {
                    sleep_until(until).await;
                    self.paused_until = None;
                }
                match self.listener.accept().await {
                    Ok((stream, peer)) => {
                        self.newcomer = self.admit(stream, peer).map(Box::new);
                    }
                    Err(error) => self.back_off(&error, &make_room),
                }
                continue;
            }
            let connection = self.permit(&make_room).await;
            if let Some(newcomer) = self.newcomer.take() {
                let Newcomer { stream, peer, permit } = *newcomer;
                // Without it small messages wait for the ACK of the previous one.
                let _ = stream.set_nodelay(true);
                let permit = Permit { _connection: connection, _address: permit };
                return Accepted { stream, peer, permit };
            }
        }
    }

    /// `None` closes the connection.
    fn admit(&mut self, stream: TcpStream, peer: SocketAddr) -> Option<Newcomer> {
        let Some(limit) = &self.per_address else {
            return Some(Newcomer { stream, peer, permit: None });
        };
        if let Some(permit) = limit.acquire(peer.ip()) {
            return Some(Newcomer { stream, peer, permit: Some(permit) });
        }
        let limit = limit.max();
        if self.address_notice.is_due() {
            tracing::warn!(
                address = %self.address, peer = %peer.ip(), limit,
                "MAX_CONNECTIONS_PER_ADDRESS reached: further connections of this peer are closed"
            );
        }
        None
    }

    async fn permit(&mut self, make_room: impl Fn() -> bool) -> OwnedSemaphorePermit {
        let mut wait = Duration::ZERO;
        loop {
            // The semaphore is never closed.
            let permit = Arc::clone(&self.permits).acquire_owned();
            if let Ok(Ok(permit)) = timeout(wait, permit).await {
                return permit;
            }
            if self.limit_notice.is_due() {
                tracing::warn!(
                    address = %self.address,
                    "connection limit reached: newcomers replace idle connections, or wait"
                );
            }
            make_room();
            wait = ROOM_INTERVAL;
        }
    }

    /// An error of one connection is over at once. Others, such as EMFILE, last until the program
    /// closes something; without a pause the loop would spin.
    fn back_off(&mut self, error: &io::Error, make_room: impl Fn() -> bool) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            tracing::error!(%error, "cannot accept connections");
            make_room();
            self.paused_until = Some(Instant::now() + BACK_OFF);
        }
    }
}

impl LastNotice {
    /// Whether a line is to be logged now, which counts it.
    fn is_due(&mut self) -> bool {
        let is_due = self.0.is_none_or(|last| last.elapsed() >= NOTICE_INTERVAL);
        if is_due {
            self.0 = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::{BACK_OFF, Incoming};
    use crate::address_limit::AddressLimit;
    use std::{io, time::Duration};
    use tokio::{
        io::AsyncReadExt as _,
        net::TcpStream,
        time::{Instant, timeout},
    };

    async fn listen(limit: usize) -> Incoming {
        let address = "127.0.0.1:0".parse().expect("an address");
        Incoming::bind("LISTEN_ADDR", address, limit).await.expect("bound")
    }

    async fn connect(incoming: &Incoming) -> TcpStream {
        TcpStream::connect(incoming.address()).await.expect("connected")
    }

    #[tokio::test]
    async fn at_the_limit_a_connection_waits_until_another_ends() {
        let mut incoming = listen(2).await;
        let (_one, _two) = (connect(&incoming).await, connect(&incoming).await);
        let third = connect(&incoming).await;
        let first = incoming.accept(|| false).await;
        let _second = incoming.accept(|| false).await;
        let waited = timeout(Duration::from_millis(50), incoming.accept(|| false)).await;
        assert!(waited.is_err(), "a third was accepted");
        drop(first);
        let accepted = incoming.accept(|| false).await;
        assert_eq!(accepted.peer, third.local_addr().expect("bound"), "cancelling loses it");
    }

    #[tokio::test]
    async fn an_address_beyond_its_limit_is_closed_and_others_are_accepted() {
        let limit = AddressLimit::new(1, "".parse().expect("no networks"));
        let mut incoming = listen(9).await.limit_per_address(limit);
        let _first = connect(&incoming).await;
        let accepted = incoming.accept(|| false).await;
        let mut second = connect(&incoming).await;
        let waited = timeout(Duration::from_millis(50), incoming.accept(|| false)).await;
        assert!(waited.is_err(), "accepted");
        assert_eq!(second.read(&mut [0]).await.expect("closed"), 0);
        drop(accepted);
        let third = connect(&incoming).await;
        let accepted = incoming.accept(|| false).await;
        assert_eq!(accepted.peer, third.local_addr().expect("bound"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_after_an_error_survives_a_cancelled_accept() {
        let mut incoming = listen(9).await;
        let _client = connect(&incoming).await;
        let start = Instant::now();
        incoming.back_off(&io::Error::other("too many open files"), || false);
        for _ in 0..4 {
            let accepted = timeout(BACK_OFF / 5, incoming.accept(|| false)).await;
            assert!(accepted.is_err(), "accepted after {:?}", start.elapsed());
        }
        incoming.accept(|| false).await;
        assert!(start.elapsed() >= BACK_OFF, "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn a_peer_at_its_own_limit_does_not_hide_the_limit_of_all() {
        let mut incoming = listen(1).await;
        assert!(incoming.address_notice.is_due());
        assert!(!incoming.address_notice.is_due());
        assert!(incoming.limit_notice.is_due());
    }
}
