//! The writes of a database: a statement alone, or several as one transaction.

use super::{
    Database, Engine,
    follow_up::{FollowUp, StatementsAfter},
};
use crate::{
    QueryFuture, ReadConsistency, StoreError,
    postgres::Pool,
    row::{Rows, TableRow},
    statement::{Connection, Statement},
};
use sqlx::Connection as _;
use std::sync::Arc;

/// Decides by the rows that a transaction has locked whether it goes on.
type CheckLocked<E> = dyn Fn(Rows) -> sqlx::Result<Result<(), E>> + Send + Sync;

impl Database {
    /// Runs a statement that writes, and returns its rows.
    pub async fn write<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        Ok(self.write_only(statement).await?.decode()?)
    }

    /// Runs a statement that writes, and returns how many rows it returns.
    pub async fn execute(&self, statement: Statement) -> Result<usize, StoreError> {
        Ok(self.write_only(statement).await?.len())
    }

    async fn write_only(&self, statement: Statement) -> Result<Rows, StoreError> {
        match &self.engine {
            Engine::Postgres(pool) if pool.read_consistency() == ReadConsistency::Primary => {
                write_alone(pool, statement).await
            }
            _ => {
                let no_statements = Arc::new(|_: &Rows| Ok(Vec::new()));
                self.write_rows(statement, no_statements).await
            }
        }
    }

    /// Runs a statement that writes, and returns its rows. If there are any, `follow_up` runs in the same
    /// transaction.
    pub async fn write_with<R: TableRow>(
        &self,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, StoreError> {
        let rows = self.write_rows(write, follow_up.into_undecoded()).await?;
        Ok(rows.decode()?)
    }

    async fn write_rows(
        &self,
        write: Statement,
        statements_after: Arc<StatementsAfter>,
    ) -> Result<Rows, StoreError> {
        let written = self.transaction(move |mut connection| {
            let write = write.clone();
            let statements_after = Arc::clone(&statements_after);
            Box::pin(async move { run_write(write, &*statements_after, &mut connection).await })
        });
        written.await
    }

    /// Like [`Self::write_with`], but only if `check` accepts the rows that `lock` has locked. All of it is one
    /// transaction.
    pub async fn write_if<L: TableRow, R: TableRow, E: From<StoreError> + Send + 'static>(
        &self,
        lock: Statement,
        check: impl Fn(&[L]) -> Result<(), E> + Send + Sync + 'static,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, E> {
        let check = Arc::new(move |locked: Rows| Ok(check(&locked.decode()?)));
        let rows = self
            .write_rows_if(lock, check, write, follow_up.into_undecoded())
            .await?;
        Ok(rows.decode().map_err(StoreError::from)?)
    }

    /// Like [`Self::write_with`], but first locks the rows that `lock` selects, which only orders the writes.
    pub async fn write_locked<R: TableRow>(
        &self,
        lock: Statement,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, StoreError> {
        let accept = Arc::new(|_: Rows| Ok(Ok::<_, StoreError>(())));
        let rows = self
            .write_rows_if(lock, accept, write, follow_up.into_undecoded())
            .await?;
        Ok(rows.decode()?)
    }

    async fn write_rows_if<E: From<StoreError> + Send + 'static>(
        &self,
        lock: Statement,
        check: Arc<CheckLocked<E>>,
        write: Statement,
        statements_after: Arc<StatementsAfter>,
    ) -> Result<Rows, E> {
        let written = self.transaction(move |mut connection| {
            let lock = lock.clone();
            let check = Arc::clone(&check);
            let write = write.clone();
            let statements_after = Arc::clone(&statements_after);
            Box::pin(async move {
                let locked = lock.lock(&mut connection).await?;
                if let Err(refusal) = check(locked)? {
                    return Ok(Err(refusal));
                }
                let rows = run_write(write, &*statements_after, &mut connection).await?;
                Ok(Ok(rows))
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
                let begin = pool.read_consistency().begin();
                let write = pool.write_with_retries(move |connection, commit| {
                    let statements = Arc::clone(&statements);
                    Box::pin(async move {
                        let mut transaction = connection.begin_with(begin).await?;
                        let value = statements(Connection::Postgres(&mut transaction)).await?;
                        commit.begin()?;
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

async fn write_alone(pool: &Pool, statement: Statement) -> Result<Rows, StoreError> {
    let write = pool.write_with_retries(move |connection, commit| {
        let statement = statement.clone();
        Box::pin(async move {
            // The server commits a lone statement with its execution.
            commit.begin()?;
            statement.fetch(&mut Connection::Postgres(connection)).await
        })
    });
    write.await
}

/// Runs a statement that writes, and the statements that follow it if it returns rows. Returns these rows.
async fn run_write(
    write: Statement,
    statements_after: &StatementsAfter,
    connection: &mut Connection<'_>,
) -> sqlx::Result<Rows> {
    let rows = write.fetch(connection).await?;
    if rows.len() > 0 {
        for statement in statements_after(&rows)? {
            statement.run(connection).await?;
        }
    }
    Ok(rows)
}
