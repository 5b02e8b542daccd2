//! A look at a database that changes nothing, not even its schema.

use super::open::TABLES;
use service_runtime::program::Failure;
use sql_store::{NotOpened, Place, STATEMENT_TIME, Schema, StoreUrl};
use sqlx::{
    ConnectOptions, Connection, PgConnection, Row, SqliteConnection, postgres::PgConnectOptions,
    sqlite::SqliteConnectOptions,
};
use std::{path::Path, time::Duration};

/// Longest time for the whole look.
const PATIENCE: Duration = STATEMENT_TIME;

/// Whether there is a user `admin`, where there are users.
const HAS_ADMIN: &str = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = 'admin')"#;

/// What was found.
#[derive(Debug)]
pub(crate) struct Inspection {
    pub(crate) schema: Schema,
    /// Seconds since 1970 by the database's own clock, at about the middle of the look; `None` for
    /// one that has no clock of its own.
    pub(crate) clock: Option<f64>,
    /// Whether it takes writes: a standby does not.
    pub(crate) takes_writes: bool,
    /// Whether there is a user `admin`.
    pub(crate) has_admin: bool,
}

/// Why there is nothing to tell.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotInspected {
    #[error(transparent)]
    NotOpened(NotOpened),
    #[error("cannot open {place}: no answer within {} seconds", PATIENCE.as_secs())]
    TooSlow { place: Place },
}

impl From<NotInspected> for Failure {
    fn from(error: NotInspected) -> Self {
        match error {
            NotInspected::NotOpened(error) => error.into(),
            too_slow @ NotInspected::TooSlow { .. } => Self::Other(Box::new(too_slow)),
        }
    }
}

/// Looks at the database; an SQLite file must exist.
pub(crate) async fn inspect(url: &StoreUrl) -> Result<Inspection, NotInspected> {
    let look = async {
        match url.place() {
            Place::Postgres(options) => in_postgres(options).await,
            Place::Sqlite(file) => in_sqlite(file).await,
        }
    };
    let looked = tokio::time::timeout(PATIENCE, look).await;
    let looked = looked.map_err(|_| NotInspected::TooSlow { place: url.place().clone() })?;
    looked.map_err(|error| NotInspected::NotOpened(url.explain(error)))
}

async fn in_postgres(options: &PgConnectOptions) -> sqlx::Result<Inspection> {
    let mut connection: PgConnection = options.connect().await?;
    let sql = "SELECT extract(epoch FROM clock_timestamp())::float8 AS clock,
        NOT pg_is_in_recovery() AS takes_writes";
    let row = sqlx::query(sql).fetch_one(&mut connection).await?;
    let schema = Schema::in_postgres(&mut connection, &TABLES).await?;
    let has_admin =
        has_users(&schema) && sqlx::query_scalar(HAS_ADMIN).fetch_one(&mut connection).await?;
    let clock = Some(row.try_get("clock")?);
    let takes_writes = row.try_get("takes_writes")?;
    connection.close().await?;
    Ok(Inspection { schema, clock, takes_writes, has_admin })
}

async fn in_sqlite(file: &Path) -> sqlx::Result<Inspection> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection: SqliteConnection = options.connect().await?;
    let schema = Schema::in_sqlite(&mut connection, &TABLES).await?;
    let has_admin =
        has_users(&schema) && sqlx::query_scalar(HAS_ADMIN).fetch_one(&mut connection).await?;
    connection.close().await?;
    let takes_writes = !file.metadata()?.permissions().readonly();
    Ok(Inspection { schema, clock: None, takes_writes, has_admin })
}

fn has_users(schema: &Schema) -> bool {
    !matches!(schema, Schema::Missing { .. } | Schema::Foreign(_))
}
