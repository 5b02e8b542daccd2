//! Transactions of commands that move many rows, which take longer than a request may.
//!
//! Only an operator waits for them. They are no writes of the service, so they count neither for the
//! health of the store nor for the places of writes in the pool.

use crate::{
    Connection, Database, Reads, Statement, StoreError, TableRow, sqlite::Pools,
    statement::traced_until,
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Sqlite, SqliteConnection, Transaction};
use std::time::Duration;
use tokio::time::Instant;

/// For each statement, and for the commit.
const STEP_TIMEOUT: Duration = Duration::from_mins(1);

const UNANSWERED: &str = "the database did not answer the commit";

/// The limits of the session, which are those of requests, do not hold in this transaction.
const LIMITS: &str = "; SET LOCAL statement_timeout = '1min';
    SET LOCAL idle_in_transaction_session_timeout = 0";

/// A transaction with a minute for each of its statements. Dropped, it is rolled back.
#[derive(Debug)]
pub struct LongTransaction(Engine);

#[derive(Debug)]
enum Engine {
    /// Not returned to the pool: the server rolls back when it is closed.
    Postgres(Box<PgConnection>),
    Sqlite(Transaction<'static, Sqlite>, Pools),
}

impl Database {
    /// Begins a transaction that writes. On SQLite every other write waits for its end.
    pub async fn begin(&self) -> Result<LongTransaction, StoreError> {
        self.begin_long(|reads| reads.begin().to_owned(), false).await
    }

    /// Begins a transaction whose reads all see the same state.
    pub async fn begin_snapshot(&self) -> Result<LongTransaction, StoreError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
        self.begin_long(|_| begin.to_owned(), true).await
    }

    async fn begin_long(
        &self,
        begin: impl FnOnce(Reads) -> String,
        reads_only: bool,
    ) -> Result<LongTransaction, StoreError> {
        let deadline = Instant::now() + STEP_TIMEOUT;
        let engine = match self {
            Self::Postgres(pool) => {
                let sql = begin(pool.reads()) + LIMITS;
                let connect = async {
                    let mut connection = pool.take_connection().await?;
                    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
                    Ok(Engine::Postgres(Box::new(connection)))
                };
                traced_until("postgresql", deadline, connect).await?
            }
            Self::Sqlite(pools) => {
                let begin = async { pools.begin(reads_only).await };
                let transaction = traced_until("sqlite", deadline, begin).await?;
                Engine::Sqlite(transaction, pools.clone())
            }
        };
        Ok(LongTransaction(engine))
    }
}

impl LongTransaction {
    /// The rows of a statement.
    pub async fn fetch<R: TableRow>(&mut self, statement: Statement) -> Result<Vec<R>, StoreError> {
        let deadline = Instant::now() + STEP_TIMEOUT;
        match &mut self.0 {
            Engine::Postgres(connection) => {
                let mut connection = Connection::Postgres(connection);
                traced_until("postgresql", deadline, statement.fetch(&mut connection)).await
            }
            Engine::Sqlite(transaction, _) => {
                let connection: &mut SqliteConnection = transaction;
                let mut connection = Connection::Sqlite(connection);
                traced_until("sqlite", deadline, statement.fetch(&mut connection)).await
            }
        }
    }

    /// Commits. Without an answer the outcome is unknown.
    pub async fn commit(self) -> Result<(), StoreError> {
        let deadline = Instant::now() + STEP_TIMEOUT;
        let committed = match self.0 {
            Engine::Postgres(mut connection) => {
                let commit = async {
                    sqlx::raw_sql("COMMIT").execute(&mut *connection).await?;
                    connection.close().await
                };
                traced_until("postgresql", deadline, commit).await
            }
            Engine::Sqlite(transaction, pools) => {
                let commit = async {
                    transaction.commit().await?;
                    pools.check_files()
                };
                traced_until("sqlite", deadline, commit).await
            }
        };
        committed.map_err(|error| match error {
            StoreError::TimedOut => StoreError::OutcomeUnknown(UNANSWERED, None),
            StoreError::Unavailable(error) => StoreError::OutcomeUnknown(UNANSWERED, Some(error)),
            error => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{DatabaseUrl, Tables};

    const TABLES: Tables = Tables {
        owner: "test",
        marker_table: "t",
        schema: None,
        postgres: &[],
        sqlite: &[(1, "t", "CREATE TABLE t (bytes BLOB); INSERT INTO t VALUES (NULL)")],
    };

    #[tokio::test]
    async fn log_of_sqlite_shrinks_after_a_long_read() {
        const LIMIT: u64 = 16 << 20;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.db");
        let url = DatabaseUrl::from_file("DATABASE_URL", file.clone());
        let database = url.open(&TABLES).await.expect("opened");
        let log_size = || file.with_extension("db-wal").metadata().expect("there").len();
        let write = async || {
            let sql = "UPDATE t SET bytes = randomblob(1048576) RETURNING 1";
            database.write::<(i64,)>(database.statement(sql)).await.expect("written");
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
