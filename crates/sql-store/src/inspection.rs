//! Reads the state of a database without changing anything, not even its schema.

use crate::{
    DatabaseTarget, DatabaseUrl, OpenError, Reads, STATEMENT_TIMEOUT, Schema, Tables,
    error::OpenFailure, postgres, sqlite,
};
use sqlx::{Connection, Row, postgres::PgConnectOptions};
use std::{io, path::Path};

/// Statements that both engines understand.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Returns a boolean, also in an older schema.
    pub answer: &'static str,
    /// Returns a count; `$1` is the time of the database in Unix seconds.
    pub count: &'static str,
}

/// The state of a database.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Its schema, compared with the tables of the service.
    pub schema: Schema,
    /// Seconds since 1970 by the clock of the database; `None` for a file that has none, or none since the
    /// boot of the system.
    pub clock: Option<f64>,
    /// Whether it accepts writes: a standby does not.
    pub takes_writes: bool,
    /// The result of the query; `None` without a query or without tables.
    pub answer: Option<bool>,
    /// The result of the other one; `None` also in an older schema.
    pub count: Option<i64>,
}

impl DatabaseUrl {
    /// Inspects the database within [`STATEMENT_TIMEOUT`], and runs `probe` if its tables exist. Does
    /// not create an SQLite file. A schema of another program is an error, as in
    /// [`DatabaseUrl::open`].
    pub async fn inspect(
        &self,
        tables: &Tables,
        probe: Option<Probe>,
    ) -> Result<Inspection, OpenError> {
        let inspect = async {
            match self.target() {
                DatabaseTarget::Postgres(servers) => {
                    in_postgres(servers, tables, self.reads(), probe).await
                }
                DatabaseTarget::Sqlite(file) => in_sqlite(file, tables, probe).await,
            }
        };
        let inspected = tokio::time::timeout(STATEMENT_TIMEOUT, inspect).await;
        let inspected = inspected.unwrap_or_else(|_elapsed| {
            let problem = format!("no answer within {} seconds", STATEMENT_TIMEOUT.as_secs());
            Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, problem)).into())
        });
        inspected.map_err(|failure| self.open_error(failure))
    }
}

async fn in_postgres(
    servers: &[PgConnectOptions],
    tables: &Tables,
    reads: Reads,
    probe: Option<Probe>,
) -> Result<Inspection, OpenFailure> {
    let mut connection = postgres::connect(servers).await?;
    let mut other = postgres::connect(servers).await?;
    postgres::require_own_sessions(&mut connection, &mut other).await?;
    other.close().await?;
    if reads == Reads::Quorum {
        postgres::require_synchronous(&mut connection).await?;
    }
    let sql = "SELECT extract(epoch FROM clock_timestamp())::float8 AS clock,
        NOT pg_is_in_recovery() AS takes_writes";
    let row = sqlx::query(sql).fetch_one(&mut connection).await?;
    let schema = Schema::in_postgres(&mut connection, tables).await?;
    let clock: f64 = row.try_get("clock")?;
    let answer = match probe.filter(|_| schema.has_tables()) {
        Some(probe) => Some(sqlx::query_scalar(probe.answer).fetch_one(&mut connection).await?),
        None => None,
    };
    let count = match probe.filter(|_| schema.has_migrations()) {
        Some(probe) => {
            let count = sqlx::query_scalar(probe.count).bind(whole(clock));
            Some(count.fetch_one(&mut connection).await?)
        }
        None => None,
    };
    let clock = Some(clock);
    let takes_writes = row.try_get("takes_writes")?;
    connection.close().await?;
    Ok(Inspection { schema, clock, takes_writes, answer, count })
}

async fn in_sqlite(
    file: &Path,
    tables: &Tables,
    probe: Option<Probe>,
) -> Result<Inspection, OpenFailure> {
    if !sqlite::file_exists(file).map_err(OpenFailure::Setting)? {
        let schema = Schema::Missing { can_create: true };
        return Ok(Inspection {
            schema,
            clock: None,
            takes_writes: true,
            answer: None,
            count: None,
        });
    }
    let mut connection = sqlite::connect_read_only(file).await?;
    let schema = Schema::in_sqlite(&mut connection, tables).await?;
    let clock = sqlite::clock::read(&mut connection).await?;
    let answer = match probe.filter(|_| schema.has_tables()) {
        Some(probe) => Some(sqlx::query_scalar(probe.answer).fetch_one(&mut connection).await?),
        None => None,
    };
    let count = match probe.filter(|_| schema.has_migrations()).zip(clock) {
        Some((probe, clock)) => {
            let count = sqlx::query_scalar(probe.count).bind(whole(clock));
            Some(count.fetch_one(&mut connection).await?)
        }
        None => None,
    };
    connection.close().await?;
    let metadata = file.metadata().map_err(sqlx::Error::from)?;
    let takes_writes = !metadata.permissions().readonly();
    Ok(Inspection { schema, clock, takes_writes, answer, count })
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn whole(seconds: f64) -> i64 {
    seconds as i64
}
