//! Connection poolers that share server connections between clients: `PgBouncer` in transaction mode.
//!
//! What a session has would be that of others: prepared statements, timeouts, the lock of migrations.

use sqlx::Error;

pub(crate) const SHARES_SESSIONS: &str = "is behind a connection pooler in transaction or statement mode, such as \
    PgBouncer, which mixes up prepared statements; connect to the server itself, or set \
    pool_mode = session";
const REFUSES_PARAMETERS: &str = "is behind PgBouncer, which refuses startup parameters; connect to \
    the server itself, or set pool_mode = session and \
    ignore_startup_parameters = extra_float_digits,options";

/// What is wrong if the error is that of a pooler; follows the name of the database.
pub(crate) fn pooler_problem(error: &Error) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::{SHARES_SESSIONS, pooler_problem};
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
            assert_eq!(pooler_problem(&error), Some(SHARES_SESSIONS), "{error}");
        }
    }
}
