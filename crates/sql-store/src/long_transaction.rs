//! Transactions for commands that move many rows. Such a transaction may take longer than a request.
//!
//! Only an operator waits for the transaction. It does not affect the health of the store, and needs none of
//! the pool's permits to write, because it is not a write of the service.

use crate::{
    Database, Engine, Statement, StoreError,
    dialect::Dialect,
    postgres::Pool,
    row::{Rows, TableRow},
    sqlite::{IMMEDIATE, Pools},
    statement::{Connection, run_until},
    unix_millis,
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::time::Duration;
use tokio::time::Instant;

#[cfg(simulation)]
use crate::simulated::Transaction as SqliteTransaction;
#[cfg(not(simulation))]
type SqliteTransaction = sqlx::Transaction<'static, sqlx::Sqlite>;

/// The time limit of each statement of a [`LongTransaction`], and of its beginning and its commit.
const LONG_STATEMENT_TIMEOUT: Duration = Duration::from_mins(1);

/// The SQL that replaces the time limits of a PostgreSQL session, which are meant for requests, for the
/// duration of this transaction.
const LIMITS: &str = "SET LOCAL statement_timeout = '1min';
    SET LOCAL idle_in_transaction_session_timeout = 0";

/// A transaction whose statements may take a minute each. Dropping it rolls it back.
#[derive(Debug)]
pub struct LongTransaction {
    dialect: Dialect,
    connection: OpenConnection,
}

#[derive(Debug)]
enum OpenConnection {
    /// The connection is not returned to the pool. The server rolls the transaction back when the connection is
    /// closed.
    Postgres(Box<PgConnection>),
    Sqlite {
        transaction: SqliteTransaction,
        pools: Pools,
    },
}

#[derive(Clone, Copy)]
enum Purpose {
    Write,
    /// The transaction only reads, and all its reads see the same state.
    Snapshot,
}

impl Database {
    /// Begins a transaction that writes. On SQLite, every other write waits until this transaction ends, and
    /// times out if the transaction lasts too long.
    pub async fn begin(&self) -> Result<LongTransaction, StoreError> {
        LongTransaction::begin(self, Purpose::Write).await
    }

    /// Begins a transaction whose reads all see the same state.
    pub async fn begin_snapshot(&self) -> Result<LongTransaction, StoreError> {
        LongTransaction::begin(self, Purpose::Snapshot).await
    }
}

impl LongTransaction {
    async fn begin(database: &Database, purpose: Purpose) -> Result<Self, StoreError> {
        let dialect = database.engine.dialect();
        // This future and those of the statements are boxed, because they are large and contain those of sqlx.
        let begin = Box::pin(async {
            match &database.engine {
                Engine::Postgres(pool) => begin_in_postgres(pool, purpose).await,
                Engine::Sqlite(pools) => begin_in_sqlite(pools, purpose).await,
            }
        });
        Ok(Self {
            dialect,
            connection: run_long(dialect, begin).await?,
        })
    }

    /// Returns whether the database is on a PostgreSQL server.
    pub fn is_postgres(&self) -> bool {
        self.dialect == Dialect::Postgres
    }

    /// Creates a statement with this SQL in the dialect of this database. Its values are bound afterwards.
    pub fn statement(&self, sql: &'static str) -> Statement {
        Statement::new(sql, self.dialect)
    }

    /// Runs a statement and returns its rows.
    pub async fn fetch<R: TableRow>(&mut self, statement: Statement) -> Result<Vec<R>, StoreError> {
        Ok(self.run(statement).await?.decode()?)
    }

    /// Runs a statement that returns one row, and returns this row. Fails if there is none.
    pub async fn fetch_one<R: TableRow>(&mut self, statement: Statement) -> Result<R, StoreError> {
        let row = self.fetch(statement).await?.pop();
        row.ok_or_else(StoreError::row_not_found)
    }

    /// Runs a statement, and returns the number of its rows.
    pub async fn execute(&mut self, statement: Statement) -> Result<usize, StoreError> {
        Ok(self.run(statement).await?.len())
    }

    async fn run(&mut self, statement: Statement) -> Result<Rows, StoreError> {
        let mut connection = match &mut self.connection {
            OpenConnection::Postgres(connection) => Connection::Postgres(connection),
            OpenConnection::Sqlite { transaction, .. } => Connection::Sqlite(transaction),
        };
        let rows = Box::pin(statement.fetch(&mut connection));
        #[cfg(simulation)]
        let rows = crate::simulated::at_once(rows);
        run_long(self.dialect, rows).await
    }

    /// Moves the clock of an SQLite database forward to this time in Unix milliseconds, if the clock is behind.
    /// It does nothing on PostgreSQL, whose clock is that of the server's machine.
    pub async fn advance_clock(&mut self, time: i64) -> Result<(), StoreError> {
        if self.is_postgres() {
            return Ok(());
        }
        let advance = "UPDATE clock SET zero = max(zero, $1 - $UPTIME), latest = max(latest, $1) RETURNING id";
        let advance = self.statement(advance).bind(time);
        self.execute(advance).await.map(drop)
    }

    /// Skips at least `count` ids of a table, which must have a column `id`. After a restore, new rows then do
    /// not get the ids of lost rows, unless more than `count` ids were assigned since the backup.
    ///
    /// The next id exceeds both the last id of the table and `at_least` by more than `count`. The exact number
    /// depends on the time, so that two restores of one backup usually skip different numbers. On PostgreSQL,
    /// the ids stay skipped even if the transaction is rolled back.
    pub async fn skip_ids(
        &mut self,
        table: &'static str,
        at_least: i64,
        count: i64,
    ) -> Result<(), StoreError> {
        let skip = if self.is_postgres() {
            "SELECT setval(sequence, greatest(coalesce(pg_sequence_last_value(sequence), 0), $2) + $3)
                FROM (SELECT pg_get_serial_sequence($1, 'id')::regclass AS sequence) AS named"
        } else {
            self.add_sequence(table).await?;
            "UPDATE sqlite_sequence SET seq = max(seq, $2) + $3 WHERE name = $1 RETURNING seq"
        };
        let skip = self
            .statement(skip)
            .bind(table)
            .bind(at_least)
            .bind(count + unix_millis() % count);
        self.execute(skip).await.map(drop)
    }

    /// Adds the table to `sqlite_sequence` if it is missing there, because SQLite adds it only at the first
    /// insert.
    async fn add_sequence(&mut self, table: &'static str) -> Result<(), StoreError> {
        let add = "INSERT INTO sqlite_sequence (name, seq)
            SELECT $1, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1) RETURNING seq";
        let add = self.statement(add).bind(table);
        self.execute(add).await.map(drop)
    }

    /// Commits the transaction. Returns [`StoreError::OutcomeUnknown`] if the database does not answer, if the
    /// connection breaks, or if the SQLite file was deleted or replaced.
    pub async fn commit(self) -> Result<(), StoreError> {
        let commit = async {
            match self.connection {
                OpenConnection::Postgres(mut connection) => {
                    sqlx::raw_sql("COMMIT").execute(&mut *connection).await?;
                    connection.close().await
                }
                OpenConnection::Sqlite { transaction, pools } => {
                    transaction.commit().await?;
                    pools.files.ensure_not_replaced()
                }
            }
        };
        run_long(self.dialect, commit).await.map_err(|error| {
            let source = match error {
                StoreError::TimedOut => None,
                StoreError::Unavailable(error) => Some(error),
                other => return other,
            };
            StoreError::OutcomeUnknown {
                problem: "the database did not answer the commit",
                source,
            }
        })
    }
}

async fn begin_in_postgres(pool: &Pool, purpose: Purpose) -> sqlx::Result<OpenConnection> {
    let begin = match purpose {
        Purpose::Write => pool.read_consistency().begin(),
        Purpose::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    };
    let sql = AssertSqlSafe(format!("{begin}; {LIMITS}"));
    let mut connection = pool.take_connection().await?;
    sqlx::raw_sql(sql).execute(&mut connection).await?;
    Ok(OpenConnection::Postgres(Box::new(connection)))
}

async fn begin_in_sqlite(pools: &Pools, purpose: Purpose) -> sqlx::Result<OpenConnection> {
    pools.files.ensure_not_replaced()?;
    let transaction = match purpose {
        Purpose::Write => pools.writer.begin_with(IMMEDIATE).await?,
        Purpose::Snapshot => pools.readers.begin().await?,
    };
    Ok(OpenConnection::Sqlite {
        transaction,
        pools: pools.clone(),
    })
}

/// Runs a statement in a span that names the engine, with the time limit [`LONG_STATEMENT_TIMEOUT`].
async fn run_long<T>(
    dialect: Dialect,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    let deadline = Instant::now() + LONG_STATEMENT_TIMEOUT;
    run_until(deadline, dialect.system(), statement).await
}

#[cfg(test)]
mod tests {
    use crate::{DatabaseUrl, Store as _, test_support::open_with_table};

    const CREATE: &str = "CREATE TABLE t (bytes BLOB); INSERT INTO t VALUES (NULL)";

    #[tokio::test]
    async fn log_of_sqlite_shrinks_after_a_long_read() {
        const LIMIT: u64 = 16 << 20;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.db");
        let url = DatabaseUrl::from_file("DATABASE_URL", file.clone());
        let database = open_with_table(&url, CREATE).await;
        let log_size = || {
            file.with_extension("db-wal")
                .metadata()
                .expect("there")
                .len()
        };
        let write = async || {
            let sql = "UPDATE t SET bytes = randomblob(1048576) RETURNING 1";
            database
                .write::<i64>(database.statement(sql))
                .await
                .expect("written");
        };
        let mut read = database.begin_snapshot().await.expect("begun");
        let count = database.statement("SELECT count(*) FROM t");
        read.fetch::<i64>(count).await.expect("read");
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
