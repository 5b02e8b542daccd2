//! PostgreSQL servers: opening, and the connection pool.

mod connector;
mod pool;
mod primary;
mod tls_mismatch;

pub use pool::Pool;
pub(crate) use primary::{rows_of_primary, with_standby_flag};

use crate::{
    DatabaseTarget, STATEMENT_TIMEOUT, Schema, Tables, error::OpenFailure, retry::within,
    transient::is_transient,
};
use primary::require_primary;
use sqlx::{
    ConnectOptions, Connection, PgConnection, migrate::Migrate, postgres::PgConnectOptions,
};
use std::time::Duration;
use tls_mismatch::is_tls_mismatch;

/// For a connection, with its TLS handshake and its login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For each lock that opening needs. The server keeps it, so that no abandoned session queues there.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// For the migrations at the first try.
pub(crate) const MIGRATION_TIMEOUT: Duration = Duration::from_mins(1);
const MAX_MIGRATION_TIMEOUT: Duration = Duration::from_hours(1);

/// Whether the server may recover: one that does not offer the TLS of the URL never does.
pub(crate) fn may_recover(error: &sqlx::Error) -> bool {
    is_transient(error) && !is_tls_mismatch(error)
}

/// What is wrong with the URL; `None` if the server failed.
pub(crate) fn setting_problem(target: &DatabaseTarget, error: &sqlx::Error) -> Option<String> {
    is_tls_mismatch(error)
        .then(|| format!("{target} does not offer the TLS that the URL requires: {error}"))
}

/// Migrates the schema and creates the pool. Instances that start together take turns. Migrations
/// that fail double `migration_timeout`, so that a large table is migrated at last.
pub(crate) async fn open(
    options: &PgConnectOptions,
    tables: &Tables,
    migration_timeout: &mut Duration,
) -> Result<Pool, OpenFailure> {
    let options = options.clone().application_name(&format!("rolegate {}", tables.owner));
    let limits = [("lock_timeout", LOCK_TIMEOUT), ("statement_timeout", *migration_timeout)];
    let opening = options.clone().options(limits.map(|(name, limit)| (name, milliseconds(limit))));
    let connect = async {
        let mut connection: PgConnection = opening.connect().await?;
        require_primary(&mut connection).await?;
        Ok::<_, sqlx::Error>(connection)
    };
    let mut connection = within("cannot connect", CONNECT_TIMEOUT, connect).await?;
    // The advisory lock of sqlx's migrator, taken early: without it this instance could inspect a
    // schema that another one has migrated halfway. It ends with the connection.
    let lock = async { connection.lock().await.map_err(sqlx::Error::from) };
    within("cannot lock the schema", LOCK_TIMEOUT + STATEMENT_TIMEOUT, lock).await?;
    let inspect = Schema::in_postgres(&mut connection, tables);
    let schema = within("cannot read the schema", STATEMENT_TIMEOUT, inspect).await?;
    let limit = if schema.has_migrations() { STATEMENT_TIMEOUT } else { *migration_timeout };
    let migrator = tables.postgres();
    let migrate = async { migrator.run(&mut connection).await.map_err(sqlx::Error::from) };
    if let Err(error) = within("cannot migrate the schema", limit, migrate).await {
        *migration_timeout = (*migration_timeout * 2).min(MAX_MIGRATION_TIMEOUT);
        return Err(error.into());
    }
    // The server ends it in any case.
    let _ = tokio::time::timeout(STATEMENT_TIMEOUT, connection.close()).await;
    // The server cancels a statement whose caller has timed out, and ends a transaction that waits
    // for its next statement.
    let timeout = milliseconds(STATEMENT_TIMEOUT);
    let timeouts = ["statement_timeout", "idle_in_transaction_session_timeout"];
    Ok(Pool::new(options.options(timeouts.map(|name| (name, &timeout))))?)
}

fn milliseconds(limit: Duration) -> String {
    format!("{}ms", limit.as_millis())
}
