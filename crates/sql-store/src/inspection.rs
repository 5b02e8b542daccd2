//! Reads the state of a database without changing anything, not even its schema.

use crate::{
    DatabaseTarget, DatabaseUrl, STATEMENT_TIMEOUT, Schema, Tables, clock,
    error::OpenFailure,
    postgres,
    retry::within,
    row::TableRow,
    sqlite,
    statement::{Connection, Statement},
};
use futures_util::future::LocalBoxFuture;
use rolegate_program::failure::Failure;
use sqlx::Connection as _;

/// The state of a database.
#[derive(Debug)]
pub struct Inspection<F = ()> {
    /// The schema, compared with the tables of the service.
    pub schema: Schema,
    /// The time of the database's clock in Unix seconds. `None` for an SQLite file that does not exist or has
    /// no clock, or whose clock was not started since the boot of the system.
    pub clock: Option<f64>,
    /// False if the server is a standby or the SQLite file is read-only; otherwise true, even if the file does
    /// not exist yet.
    pub accepts_writes: bool,
    /// The facts that the service has read from its tables. If the tables do not exist, the facts have their
    /// default values.
    pub facts: F,
}

/// The facts that a service wants to know about the rows of its tables when its database is inspected.
pub trait Facts: Default {
    /// Reads the facts. This function is called only if the tables exist.
    fn read(tables: &mut InspectedTables<'_, '_>) -> impl Future<Output = sqlx::Result<Self>>;
}

impl Facts for () {
    async fn read(_: &mut InspectedTables<'_, '_>) -> sqlx::Result<Self> {
        Ok(())
    }
}

/// The tables of a database that is inspected.
#[derive(Debug)]
pub struct InspectedTables<'i, 'c> {
    connection: &'i mut Connection<'c>,
    /// True if every migration of this release is applied. An older schema may lack tables and columns.
    pub is_up_to_date: bool,
    /// The time of the database in Unix seconds; `None` for an SQLite file without a running clock.
    pub time: Option<i64>,
}

impl InspectedTables<'_, '_> {
    /// Creates a statement with this SQL, which both engines must understand. Its values are bound afterwards.
    pub fn statement(&self, sql: &'static str) -> Statement {
        self.connection.statement(sql)
    }

    /// Runs a statement and returns its rows.
    pub async fn fetch<R: TableRow>(&mut self, statement: Statement) -> sqlx::Result<Vec<R>> {
        statement.fetch(self.connection).await?.decode()
    }
}

impl DatabaseUrl {
    /// Inspects the database within [`STATEMENT_TIMEOUT`], and reads the facts if its tables exist.
    ///
    /// The inspection does not create an SQLite file. As in [`DatabaseUrl::open`], a schema that is damaged or
    /// belongs to another program is an error.
    #[must_use]
    pub fn inspect<'a, F: Facts + 'a>(
        &'a self,
        tables: &'a Tables,
    ) -> LocalBoxFuture<'a, Result<Inspection<F>, Failure>> {
        Box::pin(async move {
            let inspected = within("", STATEMENT_TIMEOUT, self.try_inspect(tables)).await;
            inspected.map_err(|failure| self.failure(failure))
        })
    }

    async fn try_inspect<F: Facts>(&self, tables: &Tables) -> Result<Inspection<F>, OpenFailure> {
        match &self.target {
            DatabaseTarget::Postgres(servers) => {
                let mut connection = postgres::connect(servers, self.reads).await?;
                let accepts_writes = sqlx::query_scalar("SELECT NOT pg_is_in_recovery()")
                    .fetch_one(&mut connection)
                    .await?;
                let opened = Connection::Postgres(&mut connection);
                let inspection = self.inspect_open(opened, tables, accepts_writes).await?;
                connection.close().await?;
                Ok(inspection)
            }
            DatabaseTarget::Sqlite(file) => {
                if !sqlite::file_exists(file).map_err(OpenFailure::Setting)? {
                    return Ok(Inspection {
                        schema: Schema::Missing { can_create: true },
                        clock: None,
                        accepts_writes: true,
                        facts: F::default(),
                    });
                }
                let mut connection = sqlite::connect_read_only(file).await?;
                let metadata = file.metadata().map_err(sqlx::Error::from)?;
                let accepts_writes = !metadata.permissions().readonly();
                let opened = Connection::Sqlite(&mut connection);
                let inspection = self.inspect_open(opened, tables, accepts_writes).await?;
                connection.close().await?;
                Ok(inspection)
            }
        }
    }

    async fn inspect_open<F: Facts>(
        &self,
        mut connection: Connection<'_>,
        tables: &Tables,
        accepts_writes: bool,
    ) -> Result<Inspection<F>, OpenFailure> {
        let schema = Schema::read(&mut connection, tables, self.sharing).await?;
        let clock = read_clock(&mut connection).await?;
        let facts = if schema.has_tables() {
            F::read(&mut InspectedTables {
                connection: &mut connection,
                is_up_to_date: schema.is_up_to_date(),
                time: clock.map(whole_seconds),
            })
            .await?
        } else {
            F::default()
        };
        Ok(Inspection {
            schema,
            clock,
            accepts_writes,
            facts,
        })
    }
}

/// Reads the clock of the database in Unix seconds, with fractions. Returns `None` for an SQLite file without a
/// running clock.
async fn read_clock(connection: &mut Connection<'_>) -> sqlx::Result<Option<f64>> {
    match connection {
        Connection::Postgres(connection) => {
            let now = "SELECT extract(epoch FROM clock_timestamp())::float8";
            let now = sqlx::query_scalar(now).fetch_one(&mut **connection).await?;
            Ok(Some(now))
        }
        Connection::Sqlite(connection) => clock::read_time(connection).await,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn whole_seconds(clock: f64) -> i64 {
    clock as i64
}
