//! Runs the writes of a database. Each write is one transaction:
//!
//! | Function | Statements |
//! |---|---|
//! | [`Database::write`] | one statement, whose rows are returned |
//! | [`Database::execute`] | one statement, whose rows are only counted |
//! | [`Database::write_with`] | a write, and statements that follow from its rows |
//! | [`Database::write_locked`] | a lock, which orders concurrent writes, and then the same as `write_with` |
//! | [`Database::write_if`] | a lock, a check of the locked rows, and then the same as `write_with` |
//!
//! The public functions are generic over the type of the rows, and only decode them. Private functions without
//! that type do the rest, so that the compiler builds this code only once. Their futures are boxed, because they are
//! large and contain those of sqlx.

use super::{Database, Engine};
use crate::{
    ReadConsistency, StoreError,
    postgres::Pool,
    row::{Rows, TableRow},
    statement::{Connection, Statement},
};
use sqlx::Connection as _;
use std::{marker::PhantomData, sync::Arc};

/// Makes the statements that follow a write in its transaction, if the write returns rows. If the transaction
/// is retried, each attempt makes the statements again.
pub struct FollowUp<R> {
    make_statements: Box<MakeStatements>,
    /// The type of the rows of the write.
    rows: PhantomData<fn(R)>,
}

/// A function that makes the statements from the rows of the write. Its error rolls back the transaction.
type MakeStatements = dyn Fn(&Rows) -> sqlx::Result<Vec<Statement>> + Send + Sync;

impl<R: TableRow> FollowUp<R> {
    /// Creates a follow-up. The function `statements` makes its statements from the rows of the write. If the
    /// function returns an error, the transaction is rolled back.
    pub fn new(
        statements: impl Fn(&[R]) -> sqlx::Result<Vec<Statement>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            make_statements: Box::new(move |rows| statements(&rows.decode()?)),
            rows: PhantomData,
        }
    }

    /// Creates a follow-up with statements that do not depend on the rows of the write.
    #[must_use]
    pub fn fixed(statements: Vec<Statement>) -> Self {
        Self {
            make_statements: Box::new(move |_| Ok(statements.clone())),
            rows: PhantomData,
        }
    }

    /// Creates a follow-up without statements.
    #[must_use]
    pub fn none() -> Self {
        Self::fixed(Vec::new())
    }
}

/// The statements of a transaction. `E` is the error with which its lock may refuse the write.
struct Write<E> {
    guard: Option<Guard<E>>,
    statement: Statement,
    make_statements: Box<MakeStatements>,
}

/// A `SELECT` whose rows are locked before the write, and the check of these rows.
struct Guard<E> {
    lock: Statement,
    check: Box<CheckLocked<E>>,
}

/// A function that checks the rows that a transaction has locked.
///
/// The outer error rolls back the transaction. The inner error is a refusal: the transaction ends without the
/// write, and the caller gets the refusal.
type CheckLocked<E> = dyn Fn(Rows) -> sqlx::Result<Result<(), E>> + Send + Sync;

impl<E> Write<E> {
    /// Runs the write and the statements that follow it, and returns the rows of the write. The inner error is
    /// the refusal of the guard.
    async fn run(&self, mut connection: Connection<'_>) -> sqlx::Result<Result<Rows, E>> {
        if let Some(guard) = &self.guard {
            let locked = guard.lock.clone().lock(&mut connection).await?;
            if let Err(refusal) = (guard.check)(locked)? {
                // The transaction commits, but it has only locked rows and changed nothing.
                return Ok(Err(refusal));
            }
        }
        let rows = self.statement.clone().fetch(&mut connection).await?;
        if rows.len() > 0 {
            for statement in (self.make_statements)(&rows)? {
                statement.run(&mut connection).await?;
            }
        }
        Ok(Ok(rows))
    }
}

impl Database {
    /// Runs a statement that writes, and returns its rows.
    pub async fn write<R: TableRow>(&self, statement: Statement) -> Result<Vec<R>, StoreError> {
        Ok(self.write_statement(statement).await?.decode()?)
    }

    /// Runs a statement that writes, and returns how many rows its `RETURNING` clause returned: 0 without such
    /// a clause, even if rows were changed.
    pub async fn execute(&self, statement: Statement) -> Result<usize, StoreError> {
        Ok(self.write_statement(statement).await?.len())
    }

    /// Runs one statement that writes.
    ///
    /// On PostgreSQL the statement runs without the round trips of `BEGIN` and `COMMIT`, unless reads need a
    /// quorum ([`ReadConsistency::begin`]).
    async fn write_statement(&self, statement: Statement) -> Result<Rows, StoreError> {
        if let Engine::Postgres(pool) = &self.engine
            && pool.read_consistency() == ReadConsistency::Primary
        {
            return Box::pin(write_without_begin(pool, statement)).await;
        }
        let write = Write {
            guard: None,
            statement,
            make_statements: FollowUp::<i64>::none().make_statements,
        };
        Box::pin(self.transaction(write)).await
    }

    /// Runs a statement that writes, and returns its rows. If it returns rows, the statements of `follow_up`
    /// run in the same transaction.
    pub async fn write_with<R: TableRow>(
        &self,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, StoreError> {
        self.write_guarded(None, write, follow_up).await
    }

    /// Does the same as [`Self::write_with`], but first locks the rows that `lock` selects, so that concurrent
    /// writes of these rows run one after the other. The locked rows themselves are not used.
    pub async fn write_locked<R: TableRow>(
        &self,
        lock: Statement,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, StoreError> {
        let check = Box::new(|_| Ok(Ok(())));
        self.write_guarded(Some(Guard { lock, check }), write, follow_up)
            .await
    }

    /// Does the same as [`Self::write_with`], but only if `check` accepts the rows that `lock` has locked;
    /// otherwise, writes nothing and returns the error of `check`. Lock, check and write are one transaction.
    pub async fn write_if<L: TableRow, R: TableRow, E: From<StoreError> + Send + 'static>(
        &self,
        lock: Statement,
        check: impl Fn(&[L]) -> Result<(), E> + Send + Sync + 'static,
        write: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, E> {
        let check = Box::new(move |locked: Rows| Ok(check(&locked.decode()?)));
        self.write_guarded(Some(Guard { lock, check }), write, follow_up)
            .await
    }

    async fn write_guarded<R: TableRow, E: From<StoreError> + Send + 'static>(
        &self,
        guard: Option<Guard<E>>,
        statement: Statement,
        follow_up: FollowUp<R>,
    ) -> Result<Vec<R>, E> {
        let write = Write {
            guard,
            statement,
            make_statements: follow_up.make_statements,
        };
        let rows = Box::pin(self.transaction(write)).await?;
        Ok(rows.decode().map_err(StoreError::from)?)
    }

    /// Runs the statements of a write as one transaction and commits it. An error rolls it back.
    ///
    /// PostgreSQL itself may roll the transaction back because of a conflict with another one. The transaction
    /// is then retried until [`STATEMENT_TIMEOUT`](crate::STATEMENT_TIMEOUT) (`postgres/pool/writes.rs`).
    /// Writes of SQLite wait for one another, so they have no such conflict and no retry.
    async fn transaction<E: From<StoreError> + Send + 'static>(
        &self,
        write: Write<E>,
    ) -> Result<Rows, E> {
        // Each attempt is a future that needs the statements, so the attempts share them.
        let write = Arc::new(write);
        match &self.engine {
            Engine::Postgres(pool) => {
                let begin = pool.read_consistency().begin();
                let written = pool.write_with_retries(move |connection, commit| {
                    let write = Arc::clone(&write);
                    Box::pin(async move {
                        let mut transaction = connection.begin_with(begin).await?;
                        let rows = write.run(Connection::Postgres(&mut transaction)).await?;
                        commit.mark_sent()?;
                        transaction.commit().await?;
                        Ok(rows)
                    })
                });
                written.await?
            }
            Engine::Sqlite(pools) => {
                pools
                    .write(|writer| {
                        Box::pin(async move { write.run(Connection::Sqlite(writer)).await })
                    })
                    .await?
            }
        }
    }
}

async fn write_without_begin(pool: &Pool, statement: Statement) -> Result<Rows, StoreError> {
    let write = pool.write_with_retries(move |connection, commit| {
        let statement = statement.clone();
        Box::pin(async move {
            // The commit must be marked before the statement is sent: without a `BEGIN`, the server commits the
            // statement when it executes it.
            commit.mark_sent()?;
            statement.fetch(&mut Connection::Postgres(connection)).await
        })
    });
    write.await
}
