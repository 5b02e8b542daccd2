//! Checks that a server is suitable before a database on it is opened.

use crate::{
    ReadConsistency, STATEMENT_TIMEOUT, error::OpenFailure, retry::within,
    sql_error::SHARES_SESSIONS, statement,
};
use sqlx::{Connection, PgConnection, Row as _};

/// Checks the server of two connections, closes the second and returns the first. Fails if a pooler does not
/// give each connection a server process of its own, or if the server lacks the settings that reads with a
/// quorum need.
pub(super) async fn require_suitable_server(
    mut connection: PgConnection,
    mut other: PgConnection,
    reads: ReadConsistency,
) -> Result<PgConnection, OpenFailure> {
    let check = require_own_sessions(&mut connection, &mut other);
    within("cannot tell the sessions apart: ", STATEMENT_TIMEOUT, check).await?;
    let _ = other.close().await;
    if reads == ReadConsistency::Quorum {
        let check = require_synchronous(&mut connection);
        within("cannot read the settings: ", STATEMENT_TIMEOUT, check).await?;
    }
    Ok(connection)
}

/// Fails if a pooler shares the server sessions of the two connections with other clients.
async fn require_own_sessions(
    connection: &mut PgConnection,
    other: &mut PgConnection,
) -> Result<(), OpenFailure> {
    let before = fetch_pid(connection, "SELECT pg_backend_pid()").await?;
    // Behind a pooler, this transaction takes the server process of the first connection, or the first
    // connection continues on another process.
    let taken = fetch_pid(other, "BEGIN; SELECT pg_backend_pid()").await?;
    let after = fetch_pid(connection, "SELECT pg_backend_pid()").await?;
    sqlx::raw_sql("ROLLBACK").execute(other).await?;
    if taken == before || after != before {
        return Err(OpenFailure::Unrecognized(SHARES_SESSIONS.to_owned()));
    }
    Ok(())
}

/// Reads the id of the server process with this SQL. The SQL is sent as text, because a prepared statement
/// would fail behind a pooler.
async fn fetch_pid(connection: &mut PgConnection, sql: &'static str) -> sqlx::Result<i32> {
    sqlx::raw_sql(sql).fetch_one(connection).await?.try_get(0)
}

crate::row! {
    struct SynchronousSettings {
        has_standbys: bool,
        waits_for_standby: bool,
    }
}

/// Fails unless writes of this connection wait for a synchronous standby.
async fn require_synchronous(connection: &mut PgConnection) -> Result<(), OpenFailure> {
    let sql = "SELECT current_setting('synchronous_standby_names') <> '' AS has_standbys,
        current_setting('synchronous_commit') NOT IN ('off', 'local') AS waits_for_standby";
    let mut connection = statement::Connection::Postgres(connection);
    let select = connection.statement(sql);
    let settings: SynchronousSettings = select.fetch_one(&mut connection).await?;
    let problem = if !settings.has_standbys {
        "quorum requires synchronous_standby_names on the server; without it, use primary"
    } else if !settings.waits_for_standby {
        "quorum requires synchronous_commit=on on the server; otherwise writes may be lost"
    } else {
        return Ok(());
    };
    Err(OpenFailure::Reads(problem))
}
