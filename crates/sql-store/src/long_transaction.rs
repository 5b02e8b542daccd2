//! Transactions of commands that move many rows, which take longer than a request may.
//!
//! Only an operator waits for them. They are no writes of the service, so they count neither for the
//! health of the store nor for the places of writes in the pool.

use crate::{
    Database, Engine, Statement, StoreError, TableRow,
    span::traced,
    sqlite::{IMMEDIATE, Pools},
    statement::Connection,
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Sqlite, Transaction};
use std::time::Duration;
use tokio::time::Instant;

/// For each statement, and for the commit.
const STEP_TIMEOUT: Duration = Duration::from_mins(1);

const UNANSWERED: &str = "the database did not answer the commit";

/// Begins a transaction whose reads all see the same state.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// The limits of the session, which are those of requests, do not hold in this transaction.
const LIMITS: &str = "SET LOCAL statement_timeout = '1min';
    SET LOCAL idle_in_transaction_session_timeout = 0";

/// A transaction with a minute for each of its statements. Dropped, it is rolled back.
#[derive(Debug)]
pub struct LongTransaction(Open);

#[derive(Debug)]
enum Open {
    /// Not returned to the pool: the server rolls back when it is closed.
    Postgres(Box<PgConnection>),
    Sqlite(Transaction<'static, Sqlite>, Pools),
}

impl Database {
    /// Begins a transaction that writes. On SQLite every other write waits for its end.
    pub async fn begin(&self) -> Result<LongTransaction, StoreError> {
        self.begin_long(false).await
    }

    /// Begins a transaction whose reads all see the same state.
    pub async fn begin_snapshot(&self) -> Result<LongTransaction, StoreError> {
        self.begin_long(true).await
    }

    async fn begin_long(&self, is_snapshot: bool) -> Result<LongTransaction, StoreError> {
        let opened = match &self.engine {
            Engine::Postgres(pool) => {
                let begin = if is_snapshot {
                    SNAPSHOT
                } else {
                    pool.reads().begin()
                };
                let sql = AssertSqlSafe(format!("{begin}; {LIMITS}"));
                let begin = async {
                    let mut connection = pool.take_connection().await?;
                    sqlx::raw_sql(sql).execute(&mut connection).await?;
                    Ok(Open::Postgres(Box::new(connection)))
                };
                step("postgresql", begin).await?
            }
            Engine::Sqlite(pools) => {
                let begin = async {
                    pools.files.check()?;
                    let begun = if is_snapshot {
                        pools.readers.begin().await?
                    } else {
                        pools.writer.begin_with(IMMEDIATE).await?
                    };
                    Ok(Open::Sqlite(begun, pools.clone()))
                };
                step("sqlite", begin).await?
            }
        };
        Ok(LongTransaction(opened))
    }
}

impl LongTransaction {
    /// Whether it is on a PostgreSQL server.
    pub fn is_postgres(&self) -> bool {
        matches!(self.0, Open::Postgres(_))
    }

    /// A statement that starts with this SQL.
    pub fn statement(&self, sql: &'static str) -> Statement {
        Statement::new(sql, self.is_postgres())
    }

    /// The rows of a statement.
    pub async fn fetch<R: TableRow>(&mut self, statement: Statement) -> Result<Vec<R>, StoreError> {
        let (system, mut connection) = match &mut self.0 {
            Open::Postgres(connection) => ("postgresql", Connection::Postgres(connection)),
            Open::Sqlite(transaction, _) => ("sqlite", Connection::Sqlite(transaction)),
        };
        Ok(step(system, statement.fetch(&mut connection))
            .await?
            .decode()?)
    }

    /// Moves the clock of an SQLite database forward to this time in Unix milliseconds, if it is behind. The clock of a
    /// PostgreSQL server is that of its machine.
    pub async fn advance_clock(&mut self, time: i64) -> Result<(), StoreError> {
        if self.is_postgres() {
            return Ok(());
        }
        let advance = "UPDATE clock SET zero = max(zero, $1 - $UPTIME), latest = max(latest, $1) RETURNING id";
        let advance = self.statement(advance).bind(time);
        self.fetch::<(i64,)>(advance).await.map(drop)
    }

    /// Commits. Without an answer the outcome is unknown.
    pub async fn commit(self) -> Result<(), StoreError> {
        let committed = match self.0 {
            Open::Postgres(mut connection) => {
                let commit = async {
                    sqlx::raw_sql("COMMIT").execute(&mut *connection).await?;
                    connection.close().await
                };
                step("postgresql", commit).await
            }
            Open::Sqlite(transaction, pools) => {
                let commit = async {
                    transaction.commit().await?;
                    pools.files.check()
                };
                step("sqlite", commit).await
            }
        };
        committed.map_err(|error| match error {
            StoreError::TimedOut => StoreError::OutcomeUnknown {
                problem: UNANSWERED,
                source: None,
            },
            StoreError::Unavailable(error) => StoreError::OutcomeUnknown {
                problem: UNANSWERED,
                source: Some(error),
            },
            error => error,
        })
    }
}

async fn step<T>(
    system: &'static str,
    step: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    traced(system, Instant::now() + STEP_TIMEOUT, step).await
}

#[cfg(test)]
mod tests {
    use crate::{DatabaseUrl, FileClock, Migration, Store as _, Tables};

    const TABLES: Tables = Tables {
        owner: "test",
        marker_table: "t",
        schema: None,
        postgres: &[],
        sqlite: &[Migration {
            version: 1,
            name: "t",
            sql: "CREATE TABLE t (bytes BLOB); INSERT INTO t VALUES (NULL)",
        }],
    };

    #[tokio::test]
    async fn log_of_sqlite_shrinks_after_a_long_read() {
        const LIMIT: u64 = 16 << 20;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.db");
        let url = DatabaseUrl::from_file("DATABASE_URL", file.clone());
        let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
        let log_size = || {
            file.with_extension("db-wal")
                .metadata()
                .expect("there")
                .len()
        };
        let write = async || {
            let sql = "UPDATE t SET bytes = randomblob(1048576) RETURNING 1";
            database
                .write::<(i64,)>(database.statement(sql))
                .await
                .expect("written");
        };
        let mut read = database.begin_snapshot().await.expect("begun");
        let count = database.statement("SELECT count(*) FROM t");
        read.fetch::<(i64,)>(count).await.expect("read");
        while log_size() < 2 * LIMIT {
            write().await;
        }
        read.commit().await.expect("ended");
        for _ in 0..3 {
            write().await;
        }
        assert!(log_size() <= LIMIT, "{}", log_size());
        database.close().await;
    }
}
