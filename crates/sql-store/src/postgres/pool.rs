//! The connection pool of PostgreSQL.
//!
//! sqlx's own pool only opens the connections. It pings every connection that is returned, without a
//! timeout: one more round trip for each statement, and a server that vanishes without closing its
//! connections occupies the pool until TCP gives up, after a quarter of an hour. This pool passes a
//! connection on after a successful statement, pings an idle one within a timeout before its next
//! use, and closes one whose statement was abandoned.

use crate::{PoolStats, QueryFuture, StoreError, statement::traced};
use sqlx::{Connection, PgConnection, PgPool, Postgres, pool::PoolConnection};
use std::{
    mem,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// A connection used within this time is not pinged.
const MAX_UNCHECKED_IDLE: Duration = Duration::from_secs(1);
/// A server that needs longer for a ping is too slow for any request.
const PING_TIMEOUT: Duration = Duration::from_millis(500);
/// A connection is closed at this age, or after this time without use.
const MAX_LIFETIME: Duration = Duration::from_mins(10);

/// Connections to one database. Clones share them.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: PgPool,
    /// One for each connection; fair.
    permits: Semaphore,
    /// Last in, first out: connections beyond the load stay at the bottom and expire.
    idle: Mutex<Vec<IdleConnection>>,
}

#[derive(Debug)]
struct IdleConnection {
    connection: PoolConnection<Postgres>,
    opened: Instant,
    last_used: Instant,
}

/// A connection for one statement. Dropped before [`PooledConnection::release`], it is closed,
/// because its state is unknown: sqlx 0.9 forgets a transaction whose BEGIN was not awaited, and every
/// later statement would be part of it.
#[derive(Debug)]
struct PooledConnection<'c> {
    connection: Option<IdleConnection>,
    pool: &'c Pool,
    // Dropped after the connection is returned, so that the next waiter finds it.
    _permit: SemaphorePermit<'c>,
}

impl Pool {
    /// Takes over a pool that nothing else uses.
    pub(super) fn new(pool: PgPool) -> Self {
        let limit = usize::try_from(pool.options().get_max_connections()).unwrap_or(usize::MAX);
        let permits = Semaphore::new(limit.min(Semaphore::MAX_PERMITS));
        Self(Arc::new(Inner { pool, permits, idle: Mutex::default() }))
    }

    /// Runs a statement or a transaction on one connection, within
    /// [`STATEMENT_TIMEOUT`](crate::STATEMENT_TIMEOUT).
    pub async fn run<T: Send>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut PgConnection) -> QueryFuture<'c, T> + Send,
    ) -> Result<T, StoreError> {
        traced("postgresql", async {
            let mut connection = self.acquire().await?;
            let outcome = statement(&mut connection).await;
            match &outcome {
                Ok(_) => connection.release(),
                // The server rejected the statement. A pending rollback precedes the ping.
                Err(sqlx::Error::Database(_)) if is_alive(&mut connection).await => {
                    connection.release();
                }
                Err(_) => {}
            }
            outcome
        })
        .await
    }

    async fn acquire(&self) -> sqlx::Result<PooledConnection<'_>> {
        let permit = self.0.permits.acquire().await.map_err(|_closed| sqlx::Error::PoolClosed)?;
        let mut pooled =
            PooledConnection { connection: self.idle().pop(), pool: self, _permit: permit };
        if let Some(idle) = &mut pooled.connection {
            let is_fresh = idle.last_used.elapsed() < MAX_UNCHECKED_IDLE;
            if is_fresh || is_alive(&mut idle.connection).await {
                return Ok(pooled);
            }
            // The others are probably dead too, and each ping would take its timeout.
            pooled.discard();
            mem::take(&mut *self.idle()).into_iter().for_each(IdleConnection::discard);
        }
        let connection = self.0.pool.acquire().await?;
        let now = Instant::now();
        pooled.connection = Some(IdleConnection { connection, opened: now, last_used: now });
        Ok(pooled)
    }

    /// The state of the pool.
    #[must_use]
    pub fn stats(&self) -> Vec<PoolStats> {
        let mut stats = PoolStats::of("main", &self.0.pool);
        stats.idle = self.idle().len().min(stats.open);
        vec![stats]
    }

    /// Finishes running statements and closes every connection.
    pub async fn close(&self) {
        self.0.permits.close();
        // Once `close` is called, returned connections are closed.
        let closing = self.0.pool.close();
        mem::take(&mut *self.idle());
        closing.await;
    }

    fn put_back(&self, mut connection: IdleConnection) {
        connection.last_used = Instant::now();
        let mut idle = self.idle();
        if self.0.pool.is_closed() || connection.opened.elapsed() > MAX_LIFETIME {
            return connection.discard();
        }
        idle.push(connection);
        if idle[0].last_used.elapsed() > MAX_LIFETIME {
            idle.remove(0).discard();
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IdleConnection>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the server responds on this connection.
async fn is_alive(connection: &mut PgConnection) -> bool {
    timeout(PING_TIMEOUT, connection.ping()).await.is_ok_and(|pong| pong.is_ok())
}

impl IdleConnection {
    /// Closes the socket without a farewell and frees its place in sqlx's pool.
    fn discard(self) {
        drop(self.connection.detach());
    }
}

impl PooledConnection<'_> {
    /// Returns the connection to the pool: its statement has ended.
    fn release(mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.put_back(connection);
        }
    }

    fn discard(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.discard();
        }
    }
}

impl Deref for PooledConnection<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection.as_ref().expect("a connection until it is released").connection
    }
}

impl DerefMut for PooledConnection<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection.as_mut().expect("a connection until it is released").connection
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        self.discard();
    }
}
