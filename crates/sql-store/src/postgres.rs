//! PostgreSQL servers: opening, and the connection pool.

mod connector;
mod pool;
mod primary;
mod servers;
mod session_settings;
mod writes;

pub use pool::Pool;
pub(crate) use primary::fetch_from_primary;

use crate::{
    DatabaseTarget, ReadConsistency, STATEMENT_TIMEOUT, Schema, Tables,
    error::OpenFailure,
    retry::within,
    schema::BesideOthers,
    sql_error::{SHARES_SESSIONS, cause, postgres_code},
    statement,
};
use connector::Connector;
use primary::{is_standby, require_synchronous};
use sqlx::{
    Connection, Error, PgConnection, Row as _, migrate::Migrate, postgres::PgConnectOptions,
};
use std::{io, time::Duration};

/// For each lock that opening needs. The server keeps it, so that no abandoned session queues there.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// For the migrations at the first try.
pub(crate) const MIGRATION_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_MIGRATION_TIMEOUT: Duration = Duration::from_hours(1);

/// A connection that inspects the database: to the primary, or else to a standby.
pub(crate) async fn connect(
    servers: &[PgConnectOptions],
    reads: ReadConsistency,
) -> Result<PgConnection, OpenFailure> {
    let connector = Connector::new(
        with_timeouts(servers, [("statement_timeout", STATEMENT_TIMEOUT)]),
        reads,
    );
    let connect = async || match connector.try_connect().await {
        Err(error) if is_standby(&error) => connector.connect_to_any().await,
        outcome => outcome,
    };
    require_settings(connect().await?, connect().await?, reads).await
}

/// Migrates the schema and creates the pool. Instances that start together take turns. Migrations
/// that run out of time double `migration_timeout`, so that a large table is migrated at last.
pub(crate) async fn open(
    servers: &[PgConnectOptions],
    tables: &Tables,
    reads: ReadConsistency,
    beside_others: BesideOthers,
    migration_timeout: &mut Duration,
) -> Result<Pool, OpenFailure> {
    let name = format!("rolegate {}", tables.owner);
    let servers: Vec<_> = servers
        .iter()
        .map(|server| server.clone().application_name(&name))
        .collect();
    let limits = [
        ("lock_timeout", LOCK_TIMEOUT),
        ("statement_timeout", *migration_timeout),
    ];
    let to_migrate = Connector::new(with_timeouts(&servers, limits), reads);
    let (one, other) = (
        to_migrate.try_connect().await?,
        to_migrate.try_connect().await?,
    );
    let mut connection = require_settings(one, other, reads).await?;
    // The advisory lock of sqlx's migrator, taken early: without it this instance could inspect a
    // schema that another one has migrated halfway. It ends with the connection.
    let lock = async { connection.lock().await.map_err(Error::from) };
    within(
        "cannot lock the schema: ",
        LOCK_TIMEOUT + STATEMENT_TIMEOUT,
        lock,
    )
    .await?;
    let mut opened = statement::Connection::Postgres(&mut connection);
    let inspect = Schema::read(&mut opened, tables, beside_others);
    let schema = within("cannot read the schema: ", STATEMENT_TIMEOUT, inspect).await?;
    let limit = if schema.has_migrations() {
        STATEMENT_TIMEOUT
    } else {
        *migration_timeout
    };
    let migrator = tables.postgres();
    let migrate = async { migrator.run(&mut connection).await.map_err(Error::from) };
    if let Err(error) = within("cannot migrate the schema: ", limit, migrate).await {
        if is_timeout(&error) {
            *migration_timeout = (*migration_timeout * 2).min(MAX_MIGRATION_TIMEOUT);
        }
        return Err(error.into());
    }
    // The server ends it in any case.
    let _ = tokio::time::timeout(STATEMENT_TIMEOUT, connection.close()).await;
    // The server cancels a statement whose caller has timed out, and ends a transaction that waits
    // for its next statement.
    let timeouts = ["statement_timeout", "idle_in_transaction_session_timeout"];
    let with_timeouts = with_timeouts(&servers, timeouts.map(|name| (name, STATEMENT_TIMEOUT)));
    let store = DatabaseTarget::Postgres(servers).to_string();
    Ok(Pool::new(store, Connector::new(with_timeouts, reads))?)
}

/// The same servers, whose sessions begin with these settings.
fn with_timeouts<const N: usize>(
    servers: &[PgConnectOptions],
    timeouts: [(&str, Duration); N],
) -> Vec<PgConnectOptions> {
    let settings = timeouts.map(|(name, limit)| (name, format!("{}ms", limit.as_millis())));
    let with = |server: &PgConnectOptions| server.clone().options(settings.clone());
    servers.iter().map(with).collect()
}

/// Whether time ran out: the deadline of [`within`], or that of the server for a statement.
pub(crate) fn is_timeout(error: &Error) -> bool {
    match cause(error) {
        Error::Io(error) => error.kind() == io::ErrorKind::TimedOut,
        error => postgres_code(error) == Some("57014"),
    }
}

/// Returns one of two connections, unless they do not keep a server process each, or the server does not
/// have what these reads need.
async fn require_settings(
    mut one: PgConnection,
    mut other: PgConnection,
    reads: ReadConsistency,
) -> Result<PgConnection, OpenFailure> {
    let ask = require_own_sessions(&mut one, &mut other);
    within("cannot tell the sessions apart: ", STATEMENT_TIMEOUT, ask).await?;
    let _ = other.close().await;
    if reads == ReadConsistency::Quorum {
        let ask = require_synchronous(&mut one);
        within("cannot read the settings: ", STATEMENT_TIMEOUT, ask).await?;
    }
    Ok(one)
}

async fn require_own_sessions(
    one: &mut PgConnection,
    other: &mut PgConnection,
) -> Result<(), OpenFailure> {
    let before = pid(one, "SELECT pg_backend_pid()").await?;
    // The transaction takes the process of the other connection, or that one gets another.
    let taken = pid(other, "BEGIN; SELECT pg_backend_pid()").await?;
    let after = pid(one, "SELECT pg_backend_pid()").await?;
    sqlx::raw_sql("ROLLBACK").execute(other).await?;
    if taken == before || after != before {
        return Err(OpenFailure::Unrecognized(SHARES_SESSIONS.to_owned()));
    }
    Ok(())
}

/// As text: a prepared statement would fail.
async fn pid(connection: &mut PgConnection, sql: &'static str) -> sqlx::Result<i32> {
    sqlx::raw_sql(sql).fetch_one(connection).await?.try_get(0)
}
