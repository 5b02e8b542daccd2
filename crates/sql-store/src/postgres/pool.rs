//! The connection pool of PostgreSQL, used instead of sqlx's own.
//!
//! sqlx's pool pings every connection that is returned, without a timeout. The ping costs one more round trip
//! for each statement. And a server that vanishes without closing its connections occupies the pool until TCP
//! gives up, after a quarter of an hour.
//!
//! After a successful statement, this pool lends the connection again without a ping. Before the next use of a
//! connection that was idle for a second or longer, the pool pings it, with a timeout. It closes a connection
//! whose statement was abandoned, or whose server is a standby.

mod writes;

use super::{
    connector::{Connector, MAX_LIFETIME, PING_TIMEOUT, Session},
    primary::{Obstacle, find_obstacle},
};
use crate::{
    PoolStats, QueryFuture, ReadConsistency, STATEMENT_TIMEOUT, StoreError, StoreStatus,
    statement::run_until, write::WriteHealth,
};
use deadpool::managed::{self, Object, PoolError, QueueMode};
use sqlx::{Connection, PgConnection};
use std::sync::Arc;
use tokio::{
    sync::{Mutex, Semaphore},
    time::{Instant, timeout},
};

/// The maximum number of connections. Batched reads share statements, so a few connections carry a high load.
const MAX_CONNECTIONS: usize = 10;

/// The connections to one database. Statements get connections in the order of their requests. Clones share the
/// connections.
#[derive(Clone, Debug)]
pub struct Pool {
    connections: managed::Pool<Connector>,
    /// The permits that limit writes to half of the connections. A write keeps its permit until the server
    /// answers, or until its connection is lost.
    write_permits: Arc<Semaphore>,
    /// The time of the last search for a new primary. A write holds the lock while it searches, or while it
    /// asks the server about its commit.
    last_search: Arc<Mutex<Option<Instant>>>,
    health: WriteHealth,
}

/// A connection for one statement. If it is dropped before [`Pool::release`], it is closed.
///
/// The state of a dropped connection is unknown: sqlx 0.9 forgets a transaction whose BEGIN was not awaited,
/// and every later statement would be part of that transaction.
struct PooledConnection {
    /// `None` once the connection is released.
    object: Option<Object<Connector>>,
}

impl Pool {
    /// Creates the pool. `store` names the database in the log.
    pub(super) fn new(store: String, connector: Connector) -> sqlx::Result<Self> {
        let connections = managed::Pool::builder(connector)
            .max_size(MAX_CONNECTIONS)
            // The last connection that was returned is used first, so that connections beyond the load stay
            // idle and expire.
            .queue_mode(QueueMode::Lifo);
        Ok(Self {
            connections: connections.build().map_err(sqlx::Error::config)?,
            write_permits: Arc::new(Semaphore::new(MAX_CONNECTIONS / 2)),
            last_search: Arc::default(),
            health: WriteHealth::new(store, "if standbys are synchronous, look for a lost one"),
        })
    }

    pub(crate) fn read_consistency(&self) -> ReadConsistency {
        self.connector().reads
    }

    fn connector(&self) -> &Connector {
        self.connections.manager()
    }

    /// Runs a statement or a transaction that does not write, on one connection and within
    /// [`STATEMENT_TIMEOUT`].
    pub async fn run<T: Send>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut PgConnection) -> QueryFuture<'c, T> + Send,
    ) -> Result<T, StoreError> {
        let run = self.execute(|session| statement(&mut session.connection));
        run_until(Instant::now() + STATEMENT_TIMEOUT, "postgresql", run).await
    }

    async fn execute<T: Send>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut Session) -> QueryFuture<'c, T> + Send,
    ) -> sqlx::Result<T> {
        let mut pooled = PooledConnection {
            object: Some(self.get().await?),
        };
        let outcome = statement(pooled.object()).await;
        let is_usable = match &outcome {
            Ok(_) => true,
            // The server rejected the statement, so the connection may still be usable. If a rollback is
            // pending, sqlx sends it before the ping.
            Err(sqlx::Error::Database(_)) => self.connector().is_usable(pooled.object()).await,
            Err(error) => match find_obstacle(error) {
                Some(Obstacle::Asynchronous) => true,
                Some(Obstacle::Standby) => {
                    self.connector().discard_idle();
                    false
                }
                _ => false,
            },
        };
        if is_usable {
            self.release(pooled);
        }
        outcome
    }

    /// Removes a connection to the primary from the pool for good, and returns it.
    pub(crate) async fn take_connection(&self) -> sqlx::Result<PgConnection> {
        Ok(Object::take(self.get().await?).connection)
    }

    async fn get(&self) -> sqlx::Result<Object<Connector>> {
        self.connections.get().await.map_err(|error| match error {
            PoolError::Backend(error) => error,
            _ => sqlx::Error::PoolClosed,
        })
    }

    /// Returns a connection to the pool after its statement has ended. A connection that has reached
    /// [`MAX_LIFETIME`] is closed instead, together with those that have been idle for as long.
    fn release(&self, mut pooled: PooledConnection) {
        if Object::metrics(pooled.object()).age() < MAX_LIFETIME {
            drop(pooled.object.take());
        } else {
            drop(pooled);
            self.connections
                .retain(|_, metrics| metrics.last_used() < MAX_LIFETIME);
        }
    }

    /// Returns the state of the pool, and the reason why writes fail, if they do.
    pub fn status(&self) -> StoreStatus {
        let status = self.connections.status();
        let main = PoolStats {
            name: "main",
            open: status.size,
            idle: status.available,
            limit: MAX_CONNECTIONS,
        };
        StoreStatus {
            pools: vec![main],
            write_problem: self.health.problem(),
        }
    }

    /// Closes every connection. Running statements may finish within [`STATEMENT_TIMEOUT`]; commits that the
    /// server does not answer by then are left behind.
    pub async fn close(&self) {
        let idle = self.connections.retain(|_, _| false).removed;
        self.connections.close();
        let closings = async {
            for session in idle {
                let _ = session.connection.close().await;
            }
        };
        let _ = timeout(PING_TIMEOUT, closings).await;
        let _ = timeout(STATEMENT_TIMEOUT, self.wait_until_closed()).await;
    }

    async fn wait_until_closed(&self) {
        loop {
            // The listener is created before the check, so that it receives every later notification.
            let closed = self.connector().closed.notified();
            if self.connections.status().size == 0 {
                return;
            }
            closed.await;
        }
    }
}

impl PooledConnection {
    fn object(&mut self) -> &mut Object<Connector> {
        self.object
            .as_mut()
            .expect("a connection until it is released")
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}
