//! Pool to PostgreSQL, kept at hand.
//!
//! sqlx's pool only opens them. It would ask the server for a sign of life whenever a connection
//! comes back: a second round trip for every statement, and one without a time limit, so that a
//! server that vanished without a word would keep the pool's places occupied until TCP gives up, a
//! quarter of an hour later. So a connection whose statement went well goes straight to the next
//! statement, one that was idle for a while is asked first, within its time, and one whose statement
//! was abandoned is closed.

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

/// A connection that was used so lately needs no question.
const FRESH: Duration = Duration::from_secs(1);
/// Time for the answer to the question. A server that needs longer is of no use to a decision.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);
/// After this time a connection is replaced, or after so long without use closed.
const SERVICE_LIFE: Duration = Duration::from_mins(10);

/// Pool to one database. Clones share them.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    pool: PgPool,
    /// As many as there may be connections. Who waits for one of these is served in order.
    places: Semaphore,
    /// Those that nobody uses. The last is the one that was used last; those that are too many for
    /// the load sink to the bottom and grow old there.
    at_hand: Mutex<Vec<IdleConnection>>,
}

#[derive(Debug)]
struct IdleConnection {
    connection: PoolConnection<Postgres>,
    opened: Instant,
    last_used: Instant,
}

/// A place, and the connection on it for one statement. Dropped in the middle of it, the connection
/// is closed: nobody can tell what is open on it. (sqlx 0.9 forgets a transaction whose BEGIN was
/// not waited for, and everything after it would be part of it.)
#[derive(Debug)]
struct PooledConnection<'c> {
    kept: Option<IdleConnection>,
    home: &'c Pool,
    // Given back after the connection: whoever gets it finds that at hand.
    _place: SemaphorePermit<'c>,
}

impl Pool {
    /// At most so many as `pool` may open, none of which is used by others.
    pub(super) fn new(pool: PgPool) -> Self {
        let most = usize::try_from(pool.options().get_max_connections()).unwrap_or(usize::MAX);
        let places = Semaphore::new(most.min(Semaphore::MAX_PERMITS));
        Self(Arc::new(Parts { pool, places, at_hand: Mutex::default() }))
    }

    /// Runs a statement, or a transaction, to its end on a connection of its own, within
    /// [`STATEMENT_TIMEOUT`](crate::STATEMENT_TIMEOUT).
    pub async fn run<T: Send>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut PgConnection) -> QueryFuture<'c, T> + Send,
    ) -> Result<T, StoreError> {
        traced("postgresql", async {
            let mut connection = self.take().await?;
            let answer = statement(&mut connection).await;
            match &answer {
                Ok(_) => connection.give_back(),
                // The server refused, and listens again; a transaction is rolled back before the
                // sign of life.
                Err(sqlx::Error::Database(_)) if is_alive(&mut connection).await => {
                    connection.give_back();
                }
                Err(_) => {}
            }
            answer
        })
        .await
    }

    /// A connection that is alive as far as one can know.
    async fn take(&self) -> sqlx::Result<PooledConnection<'_>> {
        let place = self.0.places.acquire().await.map_err(|_closed| sqlx::Error::PoolClosed)?;
        let mut borrowed = PooledConnection { kept: self.lock().pop(), home: self, _place: place };
        if let Some(kept) = &mut borrowed.kept {
            if kept.last_used.elapsed() < FRESH || is_alive(&mut kept.connection).await {
                return Ok(borrowed);
            }
            // What ended this one ended the others too, and asking each would take its time.
            borrowed.give_up();
            mem::take(&mut *self.lock()).into_iter().for_each(IdleConnection::give_up);
        }
        let connection = self.0.pool.acquire().await?;
        let now = Instant::now();
        borrowed.kept = Some(IdleConnection { connection, opened: now, last_used: now });
        Ok(borrowed)
    }

    /// How the connections are used now.
    #[must_use]
    pub fn stats(&self) -> Vec<PoolStats> {
        let mut main = PoolStats::of("main", &self.0.pool);
        main.idle = self.lock().len().min(main.open);
        vec![main]
    }

    /// Waits for what is under way and closes every connection.
    pub async fn close(&self) {
        self.0.places.close();
        // From here on `keep` keeps nothing.
        let closing = self.0.pool.close();
        mem::take(&mut *self.lock());
        closing.await;
    }

    fn keep(&self, mut kept: IdleConnection) {
        kept.last_used = Instant::now();
        let mut at_hand = self.lock();
        if self.0.pool.is_closed() || kept.opened.elapsed() > SERVICE_LIFE {
            return kept.give_up();
        }
        at_hand.push(kept);
        if at_hand[0].last_used.elapsed() > SERVICE_LIFE {
            at_hand.remove(0).give_up();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<IdleConnection>> {
        self.0.at_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the server answers on this connection, now.
async fn is_alive(connection: &mut PgConnection) -> bool {
    timeout(SIGN_OF_LIFE, connection.ping()).await.is_ok_and(|answer| answer.is_ok())
}

impl IdleConnection {
    /// Closes the socket without a word and makes room in the pool.
    fn give_up(self) {
        drop(self.connection.detach());
    }
}

impl PooledConnection<'_> {
    /// The statement was answered to its end: the connection is good for the next one.
    fn give_back(mut self) {
        if let Some(kept) = self.kept.take() {
            self.home.keep(kept);
        }
    }

    fn give_up(&mut self) {
        if let Some(kept) = self.kept.take() {
            kept.give_up();
        }
    }
}

impl Deref for PooledConnection<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.kept.as_ref().expect("a connection until it is given back").connection
    }
}

impl DerefMut for PooledConnection<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.kept.as_mut().expect("a connection until it is given back").connection
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        self.give_up();
    }
}
