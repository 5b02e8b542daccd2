//! Only the primary's rows count, because a standby lags behind it.
//!
//! A connection may lead to a standby: through a proxy or an address that moves, or after the server
//! was demoted. Each new connection is therefore asked before its first use, and each statement that
//! reads returns the answer again, beside its rows and from the same execution. Neither is sufficient
//! alone: a statement whose snapshot a standby took just before its promotion would return "primary",
//! and a pooler may continue a session on another server.

use crate::statement_builder::TableRow;
use sqlx::{Error, PgConnection, Row as _, ValueRef as _, postgres::PgRow};
use std::io;

/// The server is a standby, so its rows may be outdated.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the server is a standby")]
struct Standby;

/// Succeeds if the server of this connection is a primary.
pub(super) async fn require_primary(connection: &mut PgConnection) -> sqlx::Result<()> {
    let standby = sqlx::query_scalar("SELECT pg_is_in_recovery()").fetch_one(connection).await?;
    if standby { Err(standby_error()) } else { Ok(()) }
}

/// The statement with one more column, whether the server is a standby. It returns at least one row:
/// without rows of `select`, one whose other columns are NULL.
pub(crate) fn with_standby_flag(select: &str) -> String {
    format!(
        "SELECT r.*, server.is_standby FROM (SELECT pg_is_in_recovery() AS is_standby) AS server
        LEFT JOIN ({select}) AS r ON true"
    )
}

/// The rows of a statement of [`with_standby_flag`] whose first column is never NULL.
pub(crate) fn rows_of_primary<R: TableRow>(rows: &[PgRow]) -> sqlx::Result<Vec<R>> {
    let first = rows.first().ok_or(Error::RowNotFound)?;
    if first.try_get(first.len() - 1)? {
        return Err(standby_error());
    }
    if first.try_get_raw(0)?.is_null() {
        return Ok(Vec::new());
    }
    rows.iter().map(R::from_row).collect()
}

fn standby_error() -> Error {
    Error::Io(io::Error::other(Standby))
}

/// Whether the server is a standby.
pub(super) fn is_standby(error: &Error) -> bool {
    let Error::Io(error) = error else { return false };
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Standby>)
}
