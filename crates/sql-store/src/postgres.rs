//! Opening PostgreSQL, and its connections.

mod pool;
mod tls_mismatch;

pub use pool::Pool;

use crate::{DatabaseTarget, STATEMENT_TIMEOUT, Schema, Tables, open::OpenFailure, transient};
use sqlx::{
    ConnectOptions, Connection, PgConnection,
    migrate::Migrate,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::time::Duration;

/// Pool to the database. Concurrent look-ups share statements, so few carry much.
const CONNECTIONS: u32 = 10;

/// Connects, brings the schema up to date and makes the pool. Eight instances may do so at once:
/// the migrator holds an advisory lock. A server that is not there (yet) is waited for, saying so;
/// one that does not do TLS as it is told to is not.
pub(crate) async fn open(options: &PgConnectOptions, tables: &Tables) -> Result<Pool, OpenFailure> {
    let options = options.clone().application_name(&format!("rolegate {}", tables.owner));
    let mut pause = Duration::from_millis(100);
    loop {
        match try_open(options.clone(), tables).await {
            Err(OpenFailure::Failed(error)) if tls_mismatch::is_tls_mismatch(&error) => {
                return Err(explain(&options, error));
            }
            Err(OpenFailure::Failed(error)) if transient::is_transient(&error) => {
                let store = DatabaseTarget::Postgres(Box::new(options.clone()));
                tracing::warn!(%store, %error, "waiting for the database");
            }
            opened => return opened,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}

/// What PostgreSQL, or the way to it, says about a connection that was not made.
pub(crate) fn explain(options: &PgConnectOptions, error: sqlx::Error) -> OpenFailure {
    if !tls_mismatch::is_tls_mismatch(&error) {
        return OpenFailure::Failed(error);
    }
    let target = DatabaseTarget::Postgres(Box::new(options.clone()));
    OpenFailure::Setting(format!("{target} does not do TLS as the URL demands: {error}"))
}

async fn try_open(options: PgConnectOptions, tables: &Tables) -> Result<Pool, OpenFailure> {
    let mut connection: PgConnection = options.connect().await?;
    // The lock of the migrator, taken earlier: whoever looks while another one migrates would find
    // half of it. It ends with the connection.
    connection.lock().await.map_err(sqlx::Error::from)?;
    if let Schema::Unrecognized(why) = Schema::in_postgres(&mut connection, tables).await? {
        return Err(OpenFailure::Unrecognized(why));
    }
    tables.postgres().run(&mut connection).await.map_err(sqlx::Error::from)?;
    connection.close().await?;
    // The server ends a statement that we stopped waiting for, and a transaction whose next
    // statement does not come.
    let timeout = format!("{}ms", STATEMENT_TIMEOUT.as_millis());
    let timeouts = ["statement_timeout", "idle_in_transaction_session_timeout"];
    let options = options.options(timeouts.map(|name| (name, &timeout)));
    // What is kept, and for how long, is not the pool's affair: see `Pool`.
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(STATEMENT_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_lazy_with(options);
    Ok(Pool::new(pool))
}
