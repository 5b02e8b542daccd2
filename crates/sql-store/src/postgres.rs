//! PostgreSQL servers: opening, and the connection pool.

mod connector;
mod pool;
mod tls_mismatch;

pub use pool::Pool;

use crate::{
    DatabaseTarget, STATEMENT_TIMEOUT, Schema, Tables, error::OpenFailure, transient::is_transient,
};
use sqlx::{
    ConnectOptions, Connection, PgConnection, migrate::Migrate, postgres::PgConnectOptions,
};
use std::time::Duration;
use tls_mismatch::is_tls_mismatch;

const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Migrates the schema and creates the pool. Retries while the server is unavailable; a server that
/// does not offer the TLS of the URL is an error at once. Instances that start together take turns.
pub(crate) async fn open(options: &PgConnectOptions, tables: &Tables) -> Result<Pool, OpenFailure> {
    let options = options.clone().application_name(&format!("rolegate {}", tables.owner));
    let mut delay = MIN_RETRY_DELAY;
    loop {
        match try_open(options.clone(), tables).await {
            Err(OpenFailure::Failed(error)) if is_transient(&error) && !is_tls_mismatch(&error) => {
                let store = DatabaseTarget::Postgres(Box::new(options.clone()));
                tracing::warn!(%store, %error, "waiting for the database");
            }
            outcome => return outcome,
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(MAX_RETRY_DELAY);
    }
}

/// What is wrong with the URL; `None` if the server failed.
pub(crate) fn setting_problem(target: &DatabaseTarget, error: &sqlx::Error) -> Option<String> {
    is_tls_mismatch(error)
        .then(|| format!("{target} does not offer the TLS that the URL requires: {error}"))
}

async fn try_open(options: PgConnectOptions, tables: &Tables) -> Result<Pool, OpenFailure> {
    let mut connection: PgConnection = options.connect().await?;
    // The advisory lock of sqlx's migrator, taken early: without it this instance could inspect a
    // schema that another one has migrated halfway. It ends with the connection.
    connection.lock().await.map_err(sqlx::Error::from)?;
    Schema::in_postgres(&mut connection, tables).await?;
    tables.postgres().run(&mut connection).await.map_err(sqlx::Error::from)?;
    connection.close().await?;
    // The server cancels a statement whose caller has timed out, and ends a transaction that waits
    // for its next statement.
    let timeout = format!("{}ms", STATEMENT_TIMEOUT.as_millis());
    let timeouts = ["statement_timeout", "idle_in_transaction_session_timeout"];
    Ok(Pool::new(options.options(timeouts.map(|name| (name, &timeout))))?)
}
