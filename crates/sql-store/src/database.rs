//! An open database of either engine, and its reads. Its writes are in `writes.rs`.
//!
//! A read on PostgreSQL goes through `postgres/primary.rs`, which refuses the rows of a standby. A read on
//! SQLite runs on a connection that only reads.

mod writes;

pub use writes::FollowUp;

use crate::{
    ReadConsistency, Store, StoreError, StoreStatus, Tables, Timed,
    dialect::Dialect,
    postgres::{Pool, fetch_from_primary},
    row::{Rows, TableRow},
    sqlite::Pools,
    statement::Statement,
};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// An open database whose schema is up to date. Clones share the connections.
#[derive(Clone, Debug)]
pub struct Database {
    /// The connections of the database.
    pub engine: Engine,
    /// The statement of a readiness check. It reads a table, as requests do, so that it also fails if tables
    /// cannot be read.
    ping: Arc<str>,
}

/// The connections of an open database, by its engine.
#[derive(Clone, Debug)]
pub enum Engine {
    /// Connections to a PostgreSQL server.
    Postgres(Pool),
    /// Connections to an SQLite file.
    Sqlite(Pools),
}

impl Engine {
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }
}

impl Database {
    pub(crate) fn new(engine: Engine, tables: &Tables) -> Self {
        let table = tables.marker(engine.dialect());
        let ping = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1) AS one");
        Self {
            engine,
            ping: ping.into(),
        }
    }

    /// Returns whether the database is on a PostgreSQL server.
    pub fn is_postgres(&self) -> bool {
        self.engine.dialect() == Dialect::Postgres
    }

    /// Creates a statement with this SQL in the dialect of this database. Its values are bound afterwards.
    pub fn statement(&self, sql: &'static str) -> Statement {
        Statement::new(sql, self.engine.dialect())
    }

    /// Runs a `SELECT` and returns its rows. On PostgreSQL, rows are returned only if the server is the
    /// primary, by the rules of [`ReadConsistency`].
    pub async fn read<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        Ok(self.read_undecoded(statement).await?.decode()?)
    }

    /// Runs a `SELECT` that returns at most one row, and returns this row. If there are several rows, returns the last.
    pub async fn read_optional<R: TableRow>(
        &self,
        statement: Statement,
    ) -> Result<Option<R>, StoreError> {
        Ok(self.read(statement).await?.pop())
    }

    /// Returns the rows of a `SELECT`, with the time of the database. Fails if an SQLite file was opened
    /// without its clock: see [`crate::FileClock`].
    pub async fn read_timed<R: TableRow>(
        &self,
        statement: Statement,
    ) -> Result<Timed<Vec<R>>, StoreError> {
        let read = self.read_undecoded_timed(statement).await?;
        Ok(Timed {
            at: read.at,
            value: read.value.decode()?,
        })
    }

    /// Does the same as [`Self::read`], but does not decode the rows. The future is boxed, because it is
    /// large and contains those of sqlx.
    fn read_undecoded(&self, statement: Statement) -> BoxFuture<'_, Result<Rows, StoreError>> {
        match &self.engine {
            Engine::Postgres(pool) => {
                Box::pin(async move { Ok(read_from_primary(pool, statement).await?.value) })
            }
            Engine::Sqlite(pools) => Box::pin(pools.read(statement)),
        }
    }

    /// Does the same as [`Self::read_timed`], but does not decode the rows. The future is boxed for the same reason.
    fn read_undecoded_timed(
        &self,
        statement: Statement,
    ) -> BoxFuture<'_, Result<Timed<Rows>, StoreError>> {
        match &self.engine {
            Engine::Postgres(pool) => Box::pin(read_from_primary(pool, statement)),
            Engine::Sqlite(pools) => Box::pin(pools.read_timed(statement)),
        }
    }

    /// Runs a `SELECT` whose result is only a hint, such as whether to look again, and returns its rows.
    ///
    /// This read asks no standby even if reads need a quorum, so the rows may come from a primary that was
    /// superseded a moment ago.
    pub async fn read_hint<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        let Engine::Postgres(pool) = &self.engine else {
            return self.read(statement).await;
        };
        let read = Box::pin(fetch_with(pool, statement, ReadConsistency::Primary));
        Ok(read.await?.value.decode()?)
    }
}

async fn read_from_primary(pool: &Pool, statement: Statement) -> Result<Timed<Rows>, StoreError> {
    let reads = pool.read_consistency();
    if reads == ReadConsistency::Primary {
        return fetch_with(pool, statement, reads).await;
    }
    // A read with a quorum writes to the WAL, and its commit waits for the standby, possibly forever. So it
    // takes the same path as a write, which limits how many such commits wait.
    let read = pool.write(move |connection, commit| {
        Box::pin(async move {
            commit.mark_sent()?;
            fetch_from_primary(statement, connection, reads).await
        })
    });
    read.await.map_err(StoreError::into_read_error)
}

async fn fetch_with(
    pool: &Pool,
    statement: Statement,
    reads: ReadConsistency,
) -> Result<Timed<Rows>, StoreError> {
    pool.run(|connection| Box::pin(fetch_from_primary(statement, connection, reads)))
        .await
}

#[async_trait]
impl Store for Database {
    async fn ping(&self) -> Result<(), StoreError> {
        if let Engine::Sqlite(pools) = &self.engine {
            pools.files.ensure_not_replaced()?;
        }
        let ping = Statement::new(&self.ping, self.engine.dialect());
        self.read_undecoded(ping).await.map(drop)
    }

    fn status(&self) -> StoreStatus {
        match &self.engine {
            Engine::Postgres(pool) => pool.status(),
            Engine::Sqlite(pools) => pools.status(),
        }
    }

    async fn close(&self) {
        match &self.engine {
            Engine::Postgres(pool) => pool.close().await,
            Engine::Sqlite(pools) => pools.close().await,
        }
    }
}
