//! Writes, which may wait for their commits without an end: while a synchronous standby is lost, the
//! server answers none.

use super::Pool;
use crate::{
    QueryFuture, STATEMENT_TIMEOUT, StoreError,
    write::{self, Commit},
    write_health::WriteHealth,
};
use sqlx::PgConnection;
use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout_at},
};

/// How often the server is asked about a commit without an answer.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Whether this server process is busy for so long that it may wait for a commit.
const MAY_WAIT: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1
    AND state = 'active' AND query_start < clock_timestamp() - interval '1 second')";

/// What to look for while a commit has no answer.
pub(super) const HINT: &str = "if standbys are synchronous, look for a lost one";

/// No server process.
const NOT_CONNECTED: i32 = 0;

/// The places that writes have in the pool. A write keeps its place until it is answered.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    places: Arc<Semaphore>,
    pub(super) health: WriteHealth,
}

impl Writes {
    pub(super) fn new(places: usize, health: WriteHealth) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), health }
    }

    /// Waits for a place; refused at once while a commit is overdue.
    async fn place(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, StoreError> {
        let place = async {
            tokio::select! {
                biased;
                refusal = self.health.refusal() => Err(refusal),
                place = Arc::clone(&self.places).acquire_owned() => {
                    place.map_err(|_| StoreError::Unavailable(sqlx::Error::PoolClosed.into()))
                }
            }
        };
        timeout_at(deadline, place).await.unwrap_or(Err(StoreError::TimedOut))
    }
}

impl Pool {
    /// Runs a statement or a transaction that writes and calls [`Commit::send`] before its commit,
    /// within [`STATEMENT_TIMEOUT`]. Writes hold at most half of the connections.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        statement: impl for<'c> FnOnce(&'c mut PgConnection, Commit) -> QueryFuture<'c, T>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + STATEMENT_TIMEOUT;
        let place = self.writes.place(deadline).await?;
        let (pool, commit) = (self.clone(), Commit::default());
        let (sending, pid) = (commit.clone(), Arc::new(AtomicI32::new(NOT_CONNECTED)));
        let connection_lost = until_lost(self.clone(), Arc::clone(&pid));
        let write = async move {
            let _place = place;
            let execute = pool.execute(|session| {
                pid.store(session.pid, Ordering::Relaxed);
                statement(&mut session.connection, sending)
            });
            execute.await
        };
        let limits = write::Limits { deadline, connection_lost };
        write::run("postgresql", &self.writes.health, commit, limits, Box::pin(write)).await
    }
}

/// Ends when the server has no such process, or an idle one: then the connection is dead, or leads to
/// a server that is not the primary any more. Asks on new connections, because an old primary may be
/// alive and not know its successor.
async fn until_lost(pool: Pool, pid: Arc<AtomicI32>) {
    loop {
        sleep(CHECK_INTERVAL).await;
        pool.suspect_server();
        let check = sqlx::query_scalar(MAY_WAIT).bind(pid.load(Ordering::Relaxed));
        let waiting = pool.run(|connection| Box::pin(check.fetch_one(connection)));
        if matches!(Box::pin(waiting).await, Ok(false)) {
            return;
        }
    }
}
