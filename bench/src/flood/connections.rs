//! A pool of persistent connections to one address.

use crate::{
    Failure,
    http_client::{Connection, Response},
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

/// The pool of idle connections. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    address: SocketAddr,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Connections {
    /// Makes an empty pool of connections to this address.
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self {
            address,
            idle: Arc::default(),
        }
    }

    /// Sends a request on an idle connection or a new one, and returns the response. If the request fails, the
    /// connection is closed.
    pub(crate) async fn with(
        &self,
        request: impl AsyncFnOnce(&mut Connection) -> Result<Response, Failure>,
    ) -> Result<Response, Failure> {
        let idle = self.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(self.address).await?,
        };
        let answer = request(&mut connection).await?;
        self.lock().push(connection);
        Ok(answer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
