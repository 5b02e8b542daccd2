//! The accept loop of HTTP and gRPC: a cap on connections, back-off on errors, `TCP_NODELAY`.

use crate::settings::SettingError;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

/// Between two attempts to accept while the system is out of resources.
const BACK_OFF: Duration = Duration::from_millis(100);

/// A bound TCP socket and the connections that it accepts.
#[derive(Debug)]
pub struct Incoming {
    listener: TcpListener,
    address: SocketAddr,
    permits: Arc<Semaphore>,
    is_full: bool,
}

/// An accepted connection. It counts against the cap until its permit is dropped.
#[derive(Debug)]
pub struct Accepted {
    /// The connection.
    pub stream: TcpStream,
    /// The address of the peer.
    pub peer: SocketAddr,
    /// `None` does not occur: the semaphore is never closed.
    pub permit: Option<OwnedSemaphorePermit>,
}

impl Incoming {
    /// Binds the address of the setting `variable`. More than `max_connections` wait in the backlog of
    /// the kernel.
    pub async fn bind(
        variable: &str,
        address: SocketAddr,
        max_connections: usize,
    ) -> Result<Self, SettingError> {
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            let permits = Arc::new(Semaphore::new(max_connections));
            io::Result::Ok(Self { listener, address, permits, is_full: false })
        };
        bound.await.map_err(|error| {
            SettingError::new(variable, format!("cannot listen on {address}: {error}"))
        })
    }

    /// The bound address, with the real port if the setting has port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts the next connection. Cancel-safe.
    pub async fn accept(&mut self) -> Accepted {
        loop {
            let is_full = self.permits.available_permits() == 0;
            if is_full && !self.is_full {
                tracing::warn!(address = %self.address, "connection limit reached: others wait");
            }
            self.is_full = is_full;
            let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    // Without it small messages wait for the ACK of the previous one.
                    let _ = stream.set_nodelay(true);
                    return Accepted { stream, peer, permit };
                }
                Err(error) => back_off(&error).await,
            }
        }
    }
}

/// An error of one connection is over at once. Others, such as EMFILE, last until the program closes
/// something; without a pause the loop would spin.
async fn back_off(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept connections");
        tokio::time::sleep(BACK_OFF).await;
    }
}

#[cfg(test)]
mod tests {
    use super::Incoming;
    use std::time::Duration;
    use tokio::{net::TcpStream, time::timeout};

    #[tokio::test]
    async fn at_the_limit_a_connection_waits_until_another_ends() {
        let address = "127.0.0.1:0".parse().expect("an address");
        let mut incoming = Incoming::bind("LISTEN_ADDR", address, 2).await.expect("bound");
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(TcpStream::connect(incoming.address()).await.expect("connected"));
        }
        let first = incoming.accept().await;
        let _second = incoming.accept().await;
        let third = timeout(Duration::from_millis(50), incoming.accept()).await;
        assert!(third.is_err(), "a third was accepted");
        drop(first);
        incoming.accept().await;
    }
}
