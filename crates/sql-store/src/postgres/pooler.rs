//! Connection poolers that share server connections between clients: `PgBouncer` in transaction mode.
//!
//! What a session has would be that of others: prepared statements, timeouts, the lock of migrations.

use crate::error::OpenFailure;
use sqlx::{Error, PgConnection, Row as _};

const SHARES_SESSIONS: &str = "is behind a connection pooler in transaction or statement mode, such as \
    PgBouncer, which mixes up prepared statements; connect to the server itself, or set \
    pool_mode = session";
const REFUSES_PARAMETERS: &str = "is behind PgBouncer, which refuses startup parameters; connect to \
    the server itself, or set pool_mode = session and \
    ignore_startup_parameters = extra_float_digits,options";

/// What is wrong if the error is that of a pooler; follows the name of the database.
pub(crate) fn problem(error: &Error) -> Option<&'static str> {
    let error = error.as_database_error()?;
    match &*error.code()? {
        // A prepared statement is missing or already there: another client has shared the session.
        "26000" | "42P05" => Some(SHARES_SESSIONS),
        // One of another client has the name, and other parameters.
        "08P01" if error.message().contains("sqlx_s_") => Some(SHARES_SESSIONS),
        "08P01" => error
            .message()
            .starts_with("unsupported startup parameter")
            .then_some(REFUSES_PARAMETERS),
        _ => None,
    }
}

/// Fails if two open connections do not keep a server process each.
pub(crate) async fn require_own_sessions(
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

#[cfg(test)]
mod tests {
    use super::{SHARES_SESSIONS, problem};
    use sqlx::{Connection as _, PgConnection};

    #[tokio::test]
    async fn prepared_statement_that_another_client_dropped_or_replaced_is_that_of_a_pooler() {
        let database = postgres_cluster::Database::create().await;
        for other_client in ["DEALLOCATE ALL", "DEALLOCATE ALL; PREPARE sqlx_s_1 AS SELECT 1"] {
            let mut connection =
                PgConnection::connect(database.url().as_str()).await.expect("connected");
            let read = || sqlx::query("SELECT $1::bigint").bind(1_i64);
            read().execute(&mut connection).await.expect("read");
            sqlx::raw_sql(other_client).execute(&mut connection).await.expect("executed");
            let error = read().execute(&mut connection).await.expect_err(other_client);
            assert_eq!(problem(&error), Some(SHARES_SESSIONS), "{error}");
        }
    }
}
