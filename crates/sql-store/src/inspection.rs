//! Reads the state of a database without changing anything, not even its schema, and reports on it for
//! `doctor`.

use crate::{
    DatabaseTarget, DatabaseUrl, STATEMENT_TIMEOUT, Schema, Tables, error::OpenFailure, postgres,
    retry::within, schema::BesideOthers, sqlite, statement::Connection,
};
use futures_util::future::LocalBoxFuture;
use rolegate_program::{doctor::Doctor, program::Failure};
use sqlx::Connection as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Far more than time synchronization leaves, far less than the lifetime of an access token.
const MAX_CLOCK_SKEW_SECONDS: f64 = 5.0;

/// Statements that both engines understand.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Returns a boolean, also in an older schema.
    pub answer: &'static str,
    /// Returns a count; `$1` is the time of the database in Unix seconds.
    pub count: &'static str,
    /// Returns names, each with two numbers.
    pub uses: &'static str,
    /// Returns the ids of the keys that stored secrets are encrypted with.
    pub key_ids: &'static str,
    /// Returns an age and a span in seconds, or no row; `$1` is the time of the database in Unix seconds.
    pub waiting: &'static str,
}

/// Rows that wait for a service to handle them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How long the oldest has waited, in seconds.
    pub age: i64,
    /// The time between the oldest and the newest, in seconds.
    pub span: i64,
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
    /// The rows of the last one; none in an older schema.
    pub uses: Vec<(String, i64, i64)>,
    /// The ids of the keys that stored secrets are encrypted with; none in an older schema.
    pub key_ids: Vec<String>,
    /// The row of the query about what waits; `None` also in an older schema.
    pub waiting: Option<Waiting>,
}

impl DatabaseUrl {
    /// Inspects the database within [`STATEMENT_TIMEOUT`], and runs `probe` if its tables exist. Does
    /// not create an SQLite file. A schema of another program is an error, as in
    /// [`DatabaseUrl::open`].
    #[must_use]
    pub fn inspect<'a>(
        &'a self,
        tables: &'a Tables,
        probe: Option<Probe>,
    ) -> LocalBoxFuture<'a, Result<Inspection, Failure>> {
        Box::pin(async move {
            let inspected = within("", STATEMENT_TIMEOUT, self.try_inspect(tables, probe)).await;
            inspected.map_err(|failure| self.failure(failure))
        })
    }

    async fn try_inspect(
        &self,
        tables: &Tables,
        probe: Option<Probe>,
    ) -> Result<Inspection, OpenFailure> {
        match &self.target {
            DatabaseTarget::Postgres(servers) => {
                let mut connection = postgres::connect(servers, self.reads).await?;
                let takes_writes = "SELECT NOT pg_is_in_recovery()";
                let takes_writes = sqlx::query_scalar(takes_writes)
                    .fetch_one(&mut connection)
                    .await?;
                let opened = &mut Connection::Postgres(&mut connection);
                let found =
                    inspect(opened, tables, self.beside_others, takes_writes, probe).await?;
                connection.close().await?;
                Ok(found)
            }
            DatabaseTarget::Sqlite(file) => {
                if !sqlite::file_exists(file).map_err(OpenFailure::Setting)? {
                    let schema = Schema::Missing { can_create: true };
                    let (clock, takes_writes, answer, count) = (None, true, None, None);
                    let waiting = None;
                    return Ok(Inspection {
                        schema,
                        clock,
                        takes_writes,
                        answer,
                        count,
                        uses: Vec::new(),
                        key_ids: Vec::new(),
                        waiting,
                    });
                }
                let mut connection = sqlite::connect_read_only(file).await?;
                let metadata = file.metadata().map_err(sqlx::Error::from)?;
                let takes_writes = !metadata.permissions().readonly();
                let opened = &mut Connection::Sqlite(&mut connection);
                let found =
                    inspect(opened, tables, self.beside_others, takes_writes, probe).await?;
                connection.close().await?;
                Ok(found)
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
async fn inspect(
    connection: &mut Connection<'_>,
    tables: &Tables,
    beside_others: BesideOthers,
    takes_writes: bool,
    probe: Option<Probe>,
) -> Result<Inspection, OpenFailure> {
    let schema = Schema::read(connection, tables, beside_others).await?;
    let clock = match connection {
        Connection::Postgres(_) => {
            let now = "SELECT extract(epoch FROM clock_timestamp())::float8";
            Some(
                connection
                    .statement(now)
                    .fetch_one::<(f64,)>(connection)
                    .await?
                    .0,
            )
        }
        Connection::Sqlite(connection) => sqlite::clock::read(connection).await?,
    };
    let mut found = Inspection {
        schema,
        clock,
        takes_writes,
        answer: None,
        count: None,
        uses: Vec::new(),
        key_ids: Vec::new(),
        waiting: None,
    };
    let Some(probe) = probe.filter(|_| found.schema.has_tables()) else {
        return Ok(found);
    };
    let answer = connection.statement(probe.answer);
    found.answer = Some(answer.fetch_one::<(bool,)>(connection).await?.0);
    if !found.schema.has_migrations() {
        return Ok(found);
    }
    found.uses = connection
        .statement(probe.uses)
        .fetch(connection)
        .await?
        .decode()?;
    let key_ids = connection
        .statement(probe.key_ids)
        .fetch(connection)
        .await?
        .decode::<(String,)>()?;
    found.key_ids = key_ids.into_iter().map(|(id,)| id).collect();
    if let Some(clock) = clock {
        let count = connection.statement(probe.count).bind(clock as i64);
        found.count = Some(count.fetch_one::<(i64,)>(connection).await?.0);
        let waiting = connection.statement(probe.waiting).bind(clock as i64);
        let waiting = waiting
            .fetch(connection)
            .await?
            .decode::<(i64, i64)>()?
            .pop();
        found.waiting = waiting.map(|(age, span)| Waiting { age, span });
    }
    Ok(found)
}

/// Reports on a database that was inspected and not migrated, and on its clock.
#[expect(
    clippy::disallowed_methods,
    reason = "compared with the clock of the database"
)]
pub fn check_database(
    doctor: &mut Doctor,
    step: &str,
    url: &DatabaseUrl,
    inspected: Result<Inspection, Failure>,
) -> Option<Inspection> {
    let found = inspected.map_err(|error| doctor.fail(step, error)).ok()?;
    match check_schema(&found) {
        Ok(state) => doctor.ok(step, format!("{url}: {state}")),
        Err(problem) => doctor.fail(step, format!("{url}: {problem}")),
    }
    if let Some(database) = found.clock {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        doctor.report("clock", check_clock(now.as_secs_f64(), database));
    }
    Some(found)
}

/// Whether a start would succeed on this database.
fn check_schema(found: &Inspection) -> Result<String, &'static str> {
    if !found.takes_writes {
        return Err("accepts no writes (a standby, or a read-only file); use the primary");
    }
    Ok(match &found.schema {
        Schema::Current => "the schema is up to date".to_owned(),
        Schema::Newer => "a newer release created the schema; this one works with it".to_owned(),
        Schema::Missing { can_create: true } => {
            "there is no schema yet; migrate or the first start creates it".to_owned()
        }
        Schema::Missing { can_create: false } => {
            return Err(
                "there is no schema yet, and this database user may not create it; GRANT it \
                        CREATE, or make it the owner of the database",
            );
        }
        Schema::Older { missing } => {
            format!("{missing} migration(s) are pending; migrate or the next start applies them")
        }
    })
}

/// Compares the clock of this machine with the clock of the database.
fn check_clock(now: f64, database: f64) -> Result<&'static str, String> {
    let skew = now - database;
    if skew.abs() <= MAX_CLOCK_SKEW_SECONDS {
        return Ok("agrees with the clock of the database");
    }
    let direction = if skew > 0.0 { "ahead of" } else { "behind" };
    let seconds = skew.abs();
    let advice = "synchronize both; for an SQLite file see Clocks in docs/backup-and-recovery.md";
    Err(format!(
        "{seconds:.0} seconds {direction} the clock of the database; {advice}"
    ))
}

#[cfg(test)]
mod tests {
    use super::check_clock;

    #[test]
    fn a_clock_that_differs_by_more_than_five_seconds_fails() {
        for offset in [-5.0, 0.0, 5.0] {
            assert!(check_clock(1000.0 + offset, 1000.0).is_ok(), "{offset}");
        }
        let ahead = check_clock(1060.0, 1000.0).expect_err("60 seconds");
        assert!(ahead.starts_with("60 seconds ahead of"), "{ahead}");
        let behind = check_clock(1000.0, 1060.0).expect_err("60 seconds");
        assert!(behind.starts_with("60 seconds behind"), "{behind}");
    }
}
