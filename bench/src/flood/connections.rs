//! Kept-alive connections to one address, as many as are needed at once.

use crate::{
    Failure,
    http_client::{Answer, Connection},
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

/// Connections. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    address: SocketAddr,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Connections {
    /// None yet.
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self { address, idle: Arc::default() }
    }

    /// Uses an idle connection, or a new one. One that failed is not used again.
    pub(crate) async fn with(
        &self,
        request: impl AsyncFnOnce(&mut Connection) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
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
