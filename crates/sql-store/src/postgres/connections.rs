//! Connections to PostgreSQL, a few of them kept at hand.
//!
//! sqlx's pool asks the server for a sign of life whenever a connection comes back. That is a second
//! round trip for every statement, and it has no time limit: a server that vanished without a word
//! would keep the pool's places occupied until TCP gives up, a quarter of an hour later. So a
//! connection whose statement went well goes straight to the next statement, one that was idle for
//! a while is asked first, and every such question has its time.

use crate::{PoolUse, StoreError, statement::traced};
use sqlx::{Connection, PgConnection, PgPool, Postgres, pool::PoolConnection};
use std::{
    mem,
    ops::{Deref, DerefMut},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{runtime::Handle, time::timeout};

/// As many as shared look-ups use at the same time; the others go back to the pool, which closes
/// what stays idle.
const AT_HAND: usize = 4;
/// A connection that was used so lately needs no question.
pub(super) const FRESH: Duration = Duration::from_secs(1);
/// Time for the answer to the question. A server that needs longer is of no use to a decision.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);
/// After this time a connection goes back to the pool, which replaces the old ones.
const SERVICE_LIFE: Duration = Duration::from_mins(10);

/// A statement under way on a connection.
pub type Answer<'c, T> = Pin<Box<dyn Future<Output = sqlx::Result<T>> + Send + 'c>>;

/// Connections to one database. Clones share them.
#[derive(Clone, Debug)]
pub struct Connections {
    pool: PgPool,
    at_hand: Arc<Mutex<Vec<Kept>>>,
}

#[derive(Debug)]
struct Kept {
    connection: PoolConnection<Postgres>,
    taken: Instant,
    last_used: Instant,
}

/// A connection for one statement. Dropped in the middle of it, it is used again only after a sign
/// of life.
#[derive(Debug)]
struct Borrowed {
    kept: Option<Kept>,
    home: Connections,
}

impl Connections {
    pub(super) fn new(pool: PgPool) -> Self {
        Self { pool, at_hand: Arc::default() }
    }

    /// Runs a statement, or a transaction, to its end on a connection of its own, within
    /// [`STATEMENT_TIME`](crate::STATEMENT_TIME).
    pub async fn run<T: Send>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut PgConnection) -> Answer<'c, T> + Send,
    ) -> Result<T, StoreError> {
        traced("postgresql", async {
            let mut connection = self.take().await?;
            let answer = statement(&mut connection).await?;
            connection.give_back();
            Ok(answer)
        })
        .await
    }

    /// A connection that is alive as far as one can know.
    async fn take(&self) -> sqlx::Result<Borrowed> {
        if let Some(mut kept) = self.pop() {
            if kept.last_used.elapsed() < FRESH || kept.is_alive().await {
                return Ok(Borrowed { kept: Some(kept), home: self.clone() });
            }
            // What ended this one ended the others too, and asking each would take its time.
            kept.give_up();
            mem::take(&mut *self.lock()).into_iter().for_each(Kept::give_up);
        }
        let connection = self.pool.acquire().await?;
        let now = Instant::now();
        let kept = Kept { connection, taken: now, last_used: now };
        Ok(Borrowed { kept: Some(kept), home: self.clone() })
    }

    /// How the connections are used now.
    #[must_use]
    pub fn uses(&self) -> Vec<PoolUse> {
        let mut main = PoolUse::of("main", &self.pool);
        main.idle = (main.idle + self.lock().len()).min(main.open);
        vec![main]
    }

    /// Waits for what is under way and closes every connection.
    pub async fn close(&self) {
        // From here on `keep` keeps nothing.
        let closing = self.pool.close();
        mem::take(&mut *self.lock());
        closing.await;
    }

    fn pop(&self) -> Option<Kept> {
        self.lock().pop()
    }

    fn keep(&self, mut kept: Kept) {
        kept.last_used = Instant::now();
        let mut at_hand = self.lock();
        if at_hand.len() < AT_HAND && kept.taken.elapsed() < SERVICE_LIFE && !self.pool.is_closed()
        {
            at_hand.push(kept);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.at_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the server answers on this connection, now.
pub(super) async fn is_alive(connection: &mut PgConnection) -> bool {
    timeout(SIGN_OF_LIFE, connection.ping()).await.is_ok_and(|answer| answer.is_ok())
}

impl Kept {
    async fn is_alive(&mut self) -> bool {
        is_alive(&mut self.connection).await
    }

    /// Closes the socket without a word and makes room in the pool.
    fn give_up(self) {
        drop(self.connection.detach());
    }
}

impl Borrowed {
    /// The statement was answered to its end: the connection is good for the next one.
    fn give_back(mut self) {
        if let Some(kept) = self.kept.take() {
            self.home.keep(kept);
        }
    }
}

impl Deref for Borrowed {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.kept.as_ref().expect("a connection until it is given back").connection
    }
}

impl DerefMut for Borrowed {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.kept.as_mut().expect("a connection until it is given back").connection
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let Some(mut kept) = self.kept.take() else { return };
        let Ok(runtime) = Handle::try_current() else { return kept.give_up() };
        let home = self.home.clone();
        runtime.spawn(async move {
            if kept.is_alive().await {
                home.keep(kept);
            } else {
                kept.give_up();
            }
        });
    }
}
