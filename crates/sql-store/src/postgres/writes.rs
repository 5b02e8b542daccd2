//! Writes, which may wait for their commits without an end: while a synchronous standby is lost, the
//! server answers none.

use super::Pool;
use crate::{
    QueryFuture, STATEMENT_TIMEOUT, StoreError,
    write::{self, Commit},
    write_health::WriteHealth,
};
use sqlx::PgConnection;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout_at},
};

/// How often the server is asked about commits without an answer.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Whether a session like this one is busy for so long that it can only wait for its commit.
const HAS_WAITING_COMMITS: &str = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
        AND application_name = current_setting('application_name') AND pid <> pg_backend_pid()
        AND state = 'active' AND query_start < clock_timestamp() - interval '1 second')";

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
        let sending = commit.clone();
        let write = async move {
            let _place = place;
            pool.execute(|connection| statement(connection, sending)).await
        };
        let connection_lost = until_none_waits(self.clone());
        let limits = write::Limits { deadline, connection_lost };
        write::run("postgresql", &self.writes.health, commit, limits, Box::pin(write)).await
    }
}

/// Ends when no session waits for its commit: then the connections of ours that still do are dead, or
/// lead to a server that is not the primary any more. Asks on new connections, because an old primary
/// may be alive and not know its successor.
async fn until_none_waits(pool: Pool) {
    loop {
        sleep(CHECK_INTERVAL).await;
        pool.suspect_server();
        let check = sqlx::query_scalar(HAS_WAITING_COMMITS);
        let waiting = pool.run(|connection| Box::pin(check.fetch_one(connection)));
        if matches!(Box::pin(waiting).await, Ok(false)) {
            return;
        }
    }
}
