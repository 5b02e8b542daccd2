//! An open database of either engine.

use crate::{
    QueryFuture, ReadConsistency, Store, StoreError, StoreStatus, Tables, Timed,
    postgres::{Pool, fetch_from_primary},
    sqlite::Pools,
    statement::{Connection, Rows, Statement, TableRow},
};
use async_trait::async_trait;
use sqlx::Connection as _;
use std::sync::Arc;

/// An open database whose schema is up to date. Clones share the connections.
#[derive(Clone, Debug)]
pub struct Database {
    /// Its connections.
    pub engine: Engine,
    ping: Arc<str>,
}

/// The statements that follow a write in its transaction, if it has rows. They are made anew if the transaction runs
/// again.
pub struct FollowUp<R>(Made<R>);

type Made<R> = Box<dyn Fn(&[R]) -> sqlx::Result<Vec<Statement>> + Send + Sync>;

impl<R> FollowUp<R> {
    /// Those that `statements` makes of the rows of the write; an error rolls back.
    pub fn new(
        statements: impl Fn(&[R]) -> sqlx::Result<Vec<Statement>> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(statements))
    }

    /// No statement.
    #[must_use]
    pub fn none() -> Self {
        Self::new(|_| Ok(Vec::new()))
    }
}

/// The same, of rows that are not decoded yet.
type ThenOfRows = Arc<dyn Fn(&Rows) -> sqlx::Result<Vec<Statement>> + Send + Sync>;

/// What decides about the rows that a transaction has locked.
type Accept<E> = Arc<dyn Fn(Rows) -> sqlx::Result<Result<(), E>> + Send + Sync>;

impl<R: TableRow> FollowUp<R> {
    fn of_undecoded(self) -> ThenOfRows {
        Arc::new(move |rows| self.0(&rows.decode()?))
    }
}

/// The connections of an open database.
#[derive(Clone, Debug)]
pub enum Engine {
    /// To a PostgreSQL server.
    Postgres(Pool),
    /// To an SQLite file.
    Sqlite(Pools),
}

impl Database {
    pub(crate) fn new(engine: Engine, tables: &Tables) -> Self {
        let table = match engine {
            Engine::Postgres(_) => tables.marker_in_postgres(),
            Engine::Sqlite(_) => format!("\"{}\"", tables.marker_table),
        };
        let ping = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1) AS one");
        Self {
            engine,
            ping: ping.into(),
        }
    }

    /// Whether it is on a PostgreSQL server.
    pub fn is_postgres(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }

    /// A statement that starts with this SQL.
    pub fn statement(&self, sql: &'static str) -> Statement {
        Statement::new(sql, self.is_postgres())
    }

    /// The rows of a `SELECT`. In PostgreSQL only a primary answers.
    pub async fn read<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        let rows = match &self.engine {
            Engine::Postgres(pool) => read_from_primary(pool, statement).await?.value,
            Engine::Sqlite(pools) => pools.read(statement).await?,
        };
        Ok(rows.decode()?)
    }

    /// The same, with the time. SQLite needs the clock of [`crate::DatabaseUrl::open`].
    pub async fn read_timed<R: TableRow>(
        &self,
        statement: Statement,
    ) -> Result<Timed<Vec<R>>, StoreError> {
        let Timed { at, value: rows } = match &self.engine {
            Engine::Postgres(pool) => read_from_primary(pool, statement).await?,
            Engine::Sqlite(pools) => Timed {
                at: pools.now()?,
                value: pools.read(statement).await?,
            },
        };
        Ok(Timed {
            at,
            value: rows.decode()?,
        })
    }

    /// The rows of a `SELECT` of which only the next look depends. They may be those of a primary that was
    /// superseded a moment ago: with a quorum, no standby is asked.
    pub async fn read_hint<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        let Engine::Postgres(pool) = &self.engine else {
            return self.read(statement).await;
        };
        let peek = pool.run(|connection| {
            Box::pin(fetch_from_primary(
                statement,
                connection,
                ReadConsistency::Primary,
            ))
        });
        Ok(peek.await?.value.decode()?)
    }

    /// The rows of a statement that writes.
    pub async fn write<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        let written = match &self.engine {
            Engine::Postgres(pool) if pool.reads() == ReadConsistency::Primary => {
                write_alone(pool, statement).await
            }
            _ => {
                self.write_rows(statement, Arc::new(|_| Ok(Vec::new())))
                    .await
            }
        };
        Ok(written?.decode()?)
    }

    /// The rows of `write`. If there are any, the statements `then` follow in the same transaction.
    pub async fn write_with<R: TableRow>(
        &self,
        write: Statement,
        then: FollowUp<R>,
    ) -> Result<Vec<R>, StoreError> {
        Ok(self
            .write_rows(write, then.of_undecoded())
            .await?
            .decode()?)
    }

    async fn write_rows(&self, write: Statement, then: ThenOfRows) -> Result<Rows, StoreError> {
        let written = self.transaction(move |mut connection| {
            let write = write.clone();
            let then = Arc::clone(&then);
            Box::pin(async move { fetch_all(write, &*then, &mut connection).await })
        });
        written.await
    }

    /// The same, if `check` accepts the rows that `lock` has locked, in one transaction.
    pub async fn write_if<L: TableRow, R: TableRow, E: From<StoreError> + Send + 'static>(
        &self,
        lock: Statement,
        check: impl Fn(&[L]) -> Result<(), E> + Send + Sync + 'static,
        write: Statement,
        then: FollowUp<R>,
    ) -> Result<Vec<R>, E> {
        let accept =
            Arc::new(move |locked: Rows| -> sqlx::Result<_> { Ok(check(&locked.decode()?)) });
        let written = self
            .write_rows_if(lock, accept, write, then.of_undecoded())
            .await?;
        Ok(written.decode().map_err(StoreError::from)?)
    }

    async fn write_rows_if<E: From<StoreError> + Send + 'static>(
        &self,
        lock: Statement,
        accept: Accept<E>,
        write: Statement,
        then: ThenOfRows,
    ) -> Result<Rows, E> {
        let written = self.transaction(move |mut connection| {
            let lock = lock.clone();
            let accept = Arc::clone(&accept);
            let write = write.clone();
            let then = Arc::clone(&then);
            Box::pin(async move {
                Ok(match accept(lock.lock(&mut connection).await?)? {
                    Ok(()) => Ok(fetch_all(write, &*then, &mut connection).await?),
                    Err(refused) => Err(refused),
                })
            })
        });
        written.await?
    }

    /// Runs statements as one transaction. An error rolls back. If PostgreSQL has rolled back because of another
    /// transaction, they run again.
    async fn transaction<T: Send + 'static>(
        &self,
        statements: impl for<'c> Fn(Connection<'c>) -> QueryFuture<'c, T> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        // The futures below each hold it.
        let statements = Arc::new(statements);
        match &self.engine {
            Engine::Postgres(pool) => {
                let begin = pool.reads().begin();
                let write = pool.write_again(move |connection, commit| {
                    let statements = Arc::clone(&statements);
                    Box::pin(async move {
                        let mut transaction = connection.begin_with(begin).await?;
                        let value = statements(Connection::Postgres(&mut transaction)).await?;
                        commit.send()?;
                        transaction.commit().await?;
                        Ok(value)
                    })
                });
                write.await
            }
            Engine::Sqlite(pools) => {
                pools
                    .write(move |writer| statements(Connection::Sqlite(writer)))
                    .await
            }
        }
    }
}

async fn read_from_primary(pool: &Pool, statement: Statement) -> Result<Timed<Rows>, StoreError> {
    let reads = pool.reads();
    if reads == ReadConsistency::Primary {
        return pool
            .run(|connection| Box::pin(fetch_from_primary(statement, connection, reads)))
            .await;
    }
    // Its commit waits for the standby like that of a write, perhaps without an end.
    let read = pool.write(move |connection, commit| {
        Box::pin(async move {
            commit.send()?;
            fetch_from_primary(statement, connection, reads).await
        })
    });
    read.await.map_err(StoreError::into_read_error)
}

async fn write_alone(pool: &Pool, statement: Statement) -> Result<Rows, StoreError> {
    let write = pool.write_again(move |connection, commit| {
        let statement = statement.clone();
        Box::pin(async move {
            // The server commits a lone statement with its execution.
            commit.send()?;
            statement.fetch(&mut Connection::Postgres(connection)).await
        })
    });
    write.await
}

/// The rows of the first statement. The others run if there are any.
async fn fetch_all(
    write: Statement,
    then: &(dyn Fn(&Rows) -> sqlx::Result<Vec<Statement>> + Send + Sync),
    connection: &mut Connection<'_>,
) -> sqlx::Result<Rows> {
    let rows = write.fetch(connection).await?;
    let then = if rows.is_empty() {
        Vec::new()
    } else {
        then(&rows)?
    };
    for statement in then {
        statement.run(connection).await?;
    }
    Ok(rows)
}

#[async_trait]
impl Store for Database {
    async fn ping(&self) -> Result<(), StoreError> {
        if let Engine::Sqlite(pools) = &self.engine {
            pools.files.check()?;
        }
        self.read::<(i64,)>(Statement::new(&self.ping, self.is_postgres()))
            .await
            .map(drop)
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
