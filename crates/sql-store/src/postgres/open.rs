//! Opens a database on PostgreSQL: migrates its schema, and creates the pool.

use super::{
    connector::Connector, pool::Pool, primary::is_standby, server_checks::require_suitable_server,
};
use crate::{
    DatabaseUrl, ReadConsistency, STATEMENT_TIMEOUT, Schema, Tables, dialect::Dialect,
    error::OpenFailure, retry::within, schema::SchemaSharing, sql_error::is_timeout, statement,
};
use sqlx::{Connection, Error, PgConnection, migrate::Migrate, postgres::PgConnectOptions};
use std::time::Duration;

/// The time limit of each lock that opening needs. The server enforces it, so that an abandoned session does
/// not stay in the queue for a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of the migrations at the first try. Each try that runs out of time doubles the limit, up to
/// [`MAX_MIGRATION_TIMEOUT`].
pub(crate) const MIGRATION_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_MIGRATION_TIMEOUT: Duration = Duration::from_hours(1);

/// Opens a connection to inspect the database: to the primary, or to a standby if there is no primary. Fails if
/// the server is not suitable (`server_checks.rs`).
pub(crate) async fn connect(
    servers: &[PgConnectOptions],
    reads: ReadConsistency,
) -> Result<PgConnection, OpenFailure> {
    let servers = with_timeouts(servers, [("statement_timeout", STATEMENT_TIMEOUT)]);
    let connector = Connector::new(servers, reads);
    let connect = async || match connector.try_connect().await {
        Err(error) if is_standby(&error) => connector.connect_to_any().await,
        outcome => outcome,
    };
    require_suitable_server(connect().await?, connect().await?, reads).await
}

/// Migrates the schema and creates the pool. `servers` are those of the URL, of which one is the primary.
///
/// Instances that start together take turns. Migrations that run out of time double `migration_timeout`, so
/// that even a large table is migrated eventually.
pub(crate) async fn open(
    url: &DatabaseUrl,
    servers: &[PgConnectOptions],
    tables: &Tables,
    migration_timeout: &mut Duration,
) -> Result<Pool, OpenFailure> {
    let name = format!("rolegate {}", tables.owner);
    let servers: Vec<_> = servers
        .iter()
        .map(|server| server.clone().application_name(&name))
        .collect();
    let mut connection = connect_to_migrate(&servers, url.reads, *migration_timeout).await?;
    migrate(&mut connection, tables, url.sharing, migration_timeout).await?;
    // A failure does not matter, because the server ends the session in any case.
    let _ = tokio::time::timeout(STATEMENT_TIMEOUT, connection.close()).await;
    // With these timeouts, the server cancels a statement whose caller has timed out, and ends a transaction
    // that gets no further statement.
    let timeouts = ["statement_timeout", "idle_in_transaction_session_timeout"];
    let pooled = with_timeouts(&servers, timeouts.map(|name| (name, STATEMENT_TIMEOUT)));
    let connector = Connector::new(pooled, url.reads);
    Ok(Pool::new(url.to_string(), connector)?)
}

async fn connect_to_migrate(
    servers: &[PgConnectOptions],
    reads: ReadConsistency,
    migration_timeout: Duration,
) -> Result<PgConnection, OpenFailure> {
    let timeouts = [
        ("lock_timeout", LOCK_TIMEOUT),
        ("statement_timeout", migration_timeout),
    ];
    let connector = Connector::new(with_timeouts(servers, timeouts), reads);
    let connection = connector.try_connect().await?;
    let other = connector.try_connect().await?;
    require_suitable_server(connection, other, reads).await
}

async fn migrate(
    connection: &mut PgConnection,
    tables: &Tables,
    sharing: SchemaSharing,
    migration_timeout: &mut Duration,
) -> Result<(), OpenFailure> {
    lock_schema(connection).await?;
    let mut opened = statement::Connection::Postgres(connection);
    let read = Schema::read(&mut opened, tables, sharing);
    let schema = within("cannot read the schema: ", STATEMENT_TIMEOUT, read).await?;
    let limit = if schema.is_up_to_date() {
        STATEMENT_TIMEOUT
    } else {
        *migration_timeout
    };
    let migrator = tables.migrator(Dialect::Postgres);
    let run = async { migrator.run(connection).await.map_err(Error::from) };
    if let Err(error) = within("cannot migrate the schema: ", limit, run).await {
        if is_timeout(&error) {
            *migration_timeout = (*migration_timeout * 2).min(MAX_MIGRATION_TIMEOUT);
        }
        return Err(error.into());
    }
    Ok(())
}

/// Takes the advisory lock of sqlx's migrator before the schema is read. Otherwise, this instance could read a
/// schema that another instance is still migrating. The server releases the lock when the connection closes.
async fn lock_schema(connection: &mut PgConnection) -> Result<(), Error> {
    let lock = async { connection.lock().await.map_err(Error::from) };
    let limit = LOCK_TIMEOUT + STATEMENT_TIMEOUT;
    within("cannot lock the schema: ", limit, lock).await
}

/// Returns copies of the connection options. Their sessions start with these timeouts.
fn with_timeouts<const N: usize>(
    servers: &[PgConnectOptions],
    timeouts: [(&str, Duration); N],
) -> Vec<PgConnectOptions> {
    let settings = timeouts.map(|(name, limit)| (name, format!("{}ms", limit.as_millis())));
    servers
        .iter()
        .map(|server| server.clone().options(settings.clone()))
        .collect()
}
