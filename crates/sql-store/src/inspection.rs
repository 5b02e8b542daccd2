//! A look at a database that changes nothing, not even its schema.

use crate::{DatabaseTarget, DatabaseUrl, OpenError, STATEMENT_TIMEOUT, Schema, Tables, sqlite};
use rolegate_service_runtime::program::Failure;
use sqlx::{
    ConnectOptions, Connection, PgConnection, Row, SqliteConnection, postgres::PgConnectOptions,
    sqlite::SqliteConnectOptions,
};
use std::{path::Path, time::Duration};

/// Longest time for the whole look.
const PATIENCE: Duration = STATEMENT_TIMEOUT;

/// A statement whose answer is one boolean, in the words of both engines.
pub type ProbeQuery = &'static str;

/// What was found.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What there is, against the tables of the service.
    pub schema: Schema,
    /// Seconds since 1970 by the database's own clock, at about the middle of the look; `None` for
    /// one that has no clock of its own.
    pub clock: Option<f64>,
    /// Whether it takes writes: a standby does not.
    pub takes_writes: bool,
    /// What the question was answered; `None` where the tables are missing or others'.
    pub answer: Option<bool>,
}

/// Why there is nothing to tell.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// In the words of an attempt to open it.
    #[error(transparent)]
    OpenError(OpenError),
    /// It may answer later.
    #[error("cannot open {target}: no answer within {} seconds", PATIENCE.as_secs())]
    TooSlow {
        /// The database.
        target: DatabaseTarget,
    },
}

impl From<InspectError> for Failure {
    fn from(error: InspectError) -> Self {
        match error {
            InspectError::OpenError(error) => error.into(),
            too_slow @ InspectError::TooSlow { .. } => Self::Other(Box::new(too_slow)),
        }
    }
}

impl DatabaseUrl {
    /// Inspects the database, and runs `question` if its tables exist. A missing SQLite file is not
    /// created; a database with [`Schema::Unrecognized`] is an error.
    pub async fn inspect(
        &self,
        tables: &Tables,
        question: Option<ProbeQuery>,
    ) -> Result<Inspection, InspectError> {
        if let DatabaseTarget::Sqlite(file) = self.target() {
            let exists = sqlite::file_exists(file);
            let exists = exists.map_err(|problem| OpenError::from(self.invalid(problem)));
            if !exists.map_err(InspectError::OpenError)? {
                let schema = Schema::Missing { can_create: true };
                return Ok(Inspection { schema, clock: None, takes_writes: true, answer: None });
            }
        }
        let look = async {
            match self.target() {
                DatabaseTarget::Postgres(options) => in_postgres(options, tables, question).await,
                DatabaseTarget::Sqlite(file) => in_sqlite(file, tables, question).await,
            }
        };
        let looked = tokio::time::timeout(PATIENCE, look).await;
        let looked = looked.map_err(|_| InspectError::TooSlow { target: self.target().clone() })?;
        let found = looked.map_err(|error| InspectError::OpenError(self.explain(error)))?;
        match &found.schema {
            Schema::Unrecognized(why) => {
                Err(InspectError::OpenError(self.unrecognized(why).into()))
            }
            _ => Ok(found),
        }
    }
}

async fn in_postgres(
    options: &PgConnectOptions,
    tables: &Tables,
    question: Option<ProbeQuery>,
) -> sqlx::Result<Inspection> {
    let mut connection: PgConnection = options.connect().await?;
    let sql = "SELECT extract(epoch FROM clock_timestamp())::float8 AS clock,
        NOT pg_is_in_recovery() AS takes_writes";
    let row = sqlx::query(sql).fetch_one(&mut connection).await?;
    let schema = Schema::in_postgres(&mut connection, tables).await?;
    let answer = match question.filter(|_| has_tables(&schema)) {
        Some(question) => Some(sqlx::query_scalar(question).fetch_one(&mut connection).await?),
        None => None,
    };
    let clock = Some(row.try_get("clock")?);
    let takes_writes = row.try_get("takes_writes")?;
    connection.close().await?;
    Ok(Inspection { schema, clock, takes_writes, answer })
}

async fn in_sqlite(
    file: &Path,
    tables: &Tables,
    question: Option<ProbeQuery>,
) -> sqlx::Result<Inspection> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection: SqliteConnection = options.connect().await?;
    let schema = Schema::in_sqlite(&mut connection, tables).await?;
    let answer = match question.filter(|_| has_tables(&schema)) {
        Some(question) => Some(sqlx::query_scalar(question).fetch_one(&mut connection).await?),
        None => None,
    };
    connection.close().await?;
    let takes_writes = !file.metadata()?.permissions().readonly();
    Ok(Inspection { schema, clock: None, takes_writes, answer })
}

fn has_tables(schema: &Schema) -> bool {
    !matches!(schema, Schema::Missing { .. } | Schema::Unrecognized(_))
}
