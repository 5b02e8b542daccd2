//! The connection pool of PostgreSQL.
//!
//! sqlx's own pool pings every connection that is returned, without a timeout: one more round trip
//! for each statement, and a server that vanishes without closing its connections occupies the pool
//! until TCP gives up, after a quarter of an hour. This pool passes a connection on after a successful
//! statement, pings an idle one within a timeout before its next use, and closes one whose statement
//! was abandoned, or whose server is a standby.

use super::{
    connector::{Connector, MAX_LIFETIME, PING_TIMEOUT, is_usable},
    primary::is_standby,
    servers::Servers,
};
use crate::{PoolStats, QueryFuture, StoreError, statement::traced};
use deadpool::managed::{self, Object, PoolError, QueueMode};
use sqlx::{Connection, PgConnection};
use std::pin::pin;
use tokio::time::timeout;

/// Batched reads share statements, so a few connections carry a high load.
const MAX_CONNECTIONS: usize = 10;

/// Connections to one database. Waiters are served in order. Clones share the connections.
#[derive(Clone, Debug)]
pub struct Pool(managed::Pool<Connector>);

/// A connection for one statement. Dropped before [`PooledConnection::release`], it is closed,
/// because its state is unknown: sqlx 0.9 forgets a transaction whose BEGIN was not awaited, and every
/// later statement would be part of it.
struct PooledConnection(Option<Object<Connector>>);

impl Pool {
    pub(super) fn new(servers: Servers) -> sqlx::Result<Self> {
        let pool = managed::Pool::builder(Connector::new(servers))
            .max_size(MAX_CONNECTIONS)
            // Connections beyond the load stay unused and expire.
            .queue_mode(QueueMode::Lifo);
        Ok(Self(pool.build().map_err(sqlx::Error::config)?))
    }

    /// Runs a statement or a transaction on one connection, within
    /// [`STATEMENT_TIMEOUT`](crate::STATEMENT_TIMEOUT).
    pub async fn run<T: Send>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut PgConnection) -> QueryFuture<'c, T> + Send,
    ) -> Result<T, StoreError> {
        traced("postgresql", async {
            let object = self.0.get().await.map_err(|error| match error {
                PoolError::Backend(error) => error,
                _ => sqlx::Error::PoolClosed,
            })?;
            let mut pooled = PooledConnection(Some(object));
            let outcome = statement(pooled.connection()).await;
            match &outcome {
                Ok(_) => self.release(pooled),
                // The server rejected the statement. A pending rollback precedes the ping.
                Err(sqlx::Error::Database(_)) if is_usable(pooled.connection()).await => {
                    self.release(pooled);
                }
                Err(error) if is_standby(error) => self.0.manager().discard_idle(),
                Err(_) => {}
            }
            outcome
        })
        .await
    }

    /// Returns a connection whose statement has ended, unless it is too old; then the ones that have
    /// been idle for as long are closed too.
    fn release(&self, mut pooled: PooledConnection) {
        if Object::metrics(pooled.object()).age() < MAX_LIFETIME {
            drop(pooled.0.take());
        } else {
            drop(pooled);
            self.0.retain(|_, metrics| metrics.last_used() < MAX_LIFETIME);
        }
    }

    /// The state of the pool.
    #[must_use]
    pub fn stats(&self) -> Vec<PoolStats> {
        let status = self.0.status();
        let (open, idle) = (status.size, status.available);
        vec![PoolStats { name: "main", open, idle, limit: MAX_CONNECTIONS }]
    }

    /// Finishes running statements and closes every connection.
    pub async fn close(&self) {
        let idle = self.0.retain(|_, _| false).removed;
        self.0.close();
        let farewells = async {
            for connection in idle {
                let _ = connection.close().await;
            }
        };
        let _ = timeout(PING_TIMEOUT, farewells).await;
        loop {
            let mut closed = pin!(self.0.manager().closed.notified());
            closed.as_mut().enable();
            if self.0.status().size == 0 {
                return;
            }
            closed.await;
        }
    }
}

impl PooledConnection {
    fn object(&mut self) -> &mut Object<Connector> {
        self.0.as_mut().expect("a connection until it is released")
    }

    fn connection(&mut self) -> &mut PgConnection {
        self.object()
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            drop(Object::take(object));
        }
    }
}
