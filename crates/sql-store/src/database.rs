//! An open database of either engine.

use crate::{
    QueryFuture, Reads, StoreError, StoreStatus, Timed,
    postgres::{Pool, fetch_from_primary},
    sqlite::Pools,
    statement_builder::{Connection, Statement, TableRow},
    with_timeout,
};
use sqlx::Connection as _;

/// An open database whose schema is up to date. Clones share the connections.
#[derive(Clone, Debug)]
pub enum Database {
    /// On a PostgreSQL server.
    Postgres(Pool),
    /// In an SQLite file.
    Sqlite(Pools),
}

impl Database {
    /// A statement that starts with this SQL.
    pub fn statement(&self, sql: &'static str) -> Statement {
        match self {
            Self::Postgres(_) => Statement::postgres(sql),
            Self::Sqlite(_) => Statement::sqlite(sql),
        }
    }

    /// Succeeds if this table can be read, as requests do.
    pub async fn ping(&self, table: &'static str) -> Result<(), StoreError> {
        if let Self::Sqlite(pools) = self {
            with_timeout(async { pools.check_files() }).await?;
        }
        let count = self.statement("SELECT count(*) FROM (SELECT 1 FROM ");
        self.read::<(i64,)>(count.push(table).push(" LIMIT 1) AS one")).await.map(drop)
    }

    /// The rows of a `SELECT`. In PostgreSQL only a primary answers.
    pub async fn read<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        match self {
            Self::Postgres(_) => Ok(self.read_timed(statement).await?.value),
            Self::Sqlite(pools) => pools.read(statement).await,
        }
    }

    /// The same, with the time. SQLite needs [`crate::DatabaseUrl::open_with_clock`].
    pub async fn read_timed<R: TableRow>(
        &self,
        statement: Statement,
    ) -> Result<Timed<Vec<R>>, StoreError> {
        match self {
            Self::Postgres(pool) if pool.reads() == Reads::Quorum => {
                // Its commit waits for the standby like that of a write, perhaps without an end.
                let read = pool.write(|connection, commit| {
                    Box::pin(async move {
                        commit.send()?;
                        fetch_from_primary(statement, connection, Reads::Quorum).await
                    })
                });
                read.await.map_err(StoreError::of_read)
            }
            Self::Postgres(pool) => {
                let reads = pool.reads();
                pool.run(|connection| Box::pin(fetch_from_primary(statement, connection, reads)))
                    .await
            }
            Self::Sqlite(pools) => {
                let at = pools.now()?;
                Ok(Timed { at, value: pools.read(statement).await? })
            }
        }
    }

    /// The rows of a statement that writes.
    pub async fn write<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        match self {
            Self::Postgres(pool) if pool.reads() == Reads::Quorum => {
                self.transaction(|mut connection| {
                    Box::pin(async move { statement.fetch(&mut connection).await })
                })
                .await
            }
            Self::Postgres(pool) => {
                pool.write(|connection, commit| {
                    Box::pin(async move {
                        // The server commits a lone statement with its execution.
                        commit.send()?;
                        statement.fetch(&mut Connection::Postgres(connection)).await
                    })
                })
                .await
            }
            Self::Sqlite(pools) => {
                pools
                    .write(|writer| {
                        Box::pin(async { statement.fetch(&mut Connection::Sqlite(writer)).await })
                    })
                    .await
            }
        }
    }

    /// Runs statements as one transaction. An error rolls back.
    pub async fn transaction<T: Send + 'static>(
        &self,
        statements: impl for<'c> FnOnce(Connection<'c>) -> QueryFuture<'c, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        // The futures below each hold it.
        let statements = Box::new(statements);
        match self {
            Self::Postgres(pool) => {
                let begin = pool.reads().begin();
                pool.write(move |connection, commit| {
                    Box::pin(async move {
                        let mut transaction = connection.begin_with(begin).await?;
                        let value = statements(Connection::Postgres(&mut transaction)).await?;
                        commit.send()?;
                        transaction.commit().await?;
                        Ok(value)
                    })
                })
                .await
            }
            Self::Sqlite(pools) => {
                pools.write(|writer| statements(Connection::Sqlite(writer))).await
            }
        }
    }

    /// The state of the connection pools, and of the last write.
    #[must_use]
    pub fn status(&self) -> StoreStatus {
        match self {
            Self::Postgres(pool) => pool.status(),
            Self::Sqlite(pools) => pools.status(),
        }
    }

    /// Finishes running statements and closes every connection.
    pub async fn close(&self) {
        match self {
            Self::Postgres(pool) => pool.close().await,
            Self::Sqlite(pools) => pools.close().await,
        }
    }
}
