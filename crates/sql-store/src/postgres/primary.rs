//! Only the primary's rows count, because a standby lags behind it.
//!
//! A connection may lead to a standby: through a proxy or an address that moves, or after the server
//! was demoted. Each new connection is therefore asked before its first use, and each statement that
//! reads returns the answer again, beside its rows and from the same execution. Neither is sufficient
//! alone: a statement whose snapshot a standby took just before its promotion would return "primary",
//! and a pooler may continue a session on another server.

use crate::{Reads, error::OpenFailure, statement_builder::TableRow};
use sqlx::{Error, PgConnection, Row as _, ValueRef as _, postgres::PgRow};
use std::io;

/// Why the rows of a server do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Obstacle {
    /// They may be outdated.
    #[error("the server is a standby")]
    Standby,
    /// No standby acknowledges them.
    #[error("synchronous_standby_names is empty, and DATABASE_READS=quorum requires it")]
    Asynchronous,
}

/// Succeeds if the server of this connection is a primary.
pub(super) async fn require_primary(connection: &mut PgConnection) -> sqlx::Result<()> {
    let standby = sqlx::query_scalar("SELECT pg_is_in_recovery()").fetch_one(connection).await?;
    if standby { Err(Obstacle::Standby.into()) } else { Ok(()) }
}

/// Succeeds if writes of this connection wait for a synchronous standby.
pub(crate) async fn require_synchronous(connection: &mut PgConnection) -> Result<(), OpenFailure> {
    let sql = "SELECT current_setting('synchronous_standby_names') <> '',
        current_setting('synchronous_commit') NOT IN ('off', 'local')";
    let (has_standbys, waits) = sqlx::query_as(sql).fetch_one(connection).await?;
    let problem = match (has_standbys, waits) {
        (true, true) => return Ok(()),
        (false, _) => {
            "quorum requires synchronous_standby_names on the server; use primary without"
        }
        (true, false) => {
            "quorum requires synchronous_commit=on on the server, or writes may be lost"
        }
    };
    Err(OpenFailure::Reads(problem.to_owned()))
}

/// The statement with one more column, the obstacle if there is one. It returns at least one row:
/// without rows of `select`, one whose other columns are NULL.
pub(crate) fn with_obstacle(select: &str, reads: Reads) -> String {
    format!(
        "SELECT r.*, server.obstacle FROM (SELECT {} AS obstacle) AS server
        LEFT JOIN ({select}) AS r ON true",
        reads.obstacle()
    )
}

/// The rows of a statement of [`with_obstacle`] whose first column is never NULL.
pub(crate) fn rows_that_count<R: TableRow>(rows: &[PgRow]) -> sqlx::Result<Vec<R>> {
    let first = rows.first().ok_or(Error::RowNotFound)?;
    match first.try_get(first.len() - 1)? {
        None => {}
        Some("standby") => return Err(Obstacle::Standby.into()),
        Some(_) => return Err(Obstacle::Asynchronous.into()),
    }
    if first.try_get_raw(0)?.is_null() {
        return Ok(Vec::new());
    }
    rows.iter().map(R::from_row).collect()
}

impl From<Obstacle> for Error {
    fn from(obstacle: Obstacle) -> Self {
        Self::Io(io::Error::other(obstacle))
    }
}

/// Why the rows of the server did not count; `None` for other errors.
pub(super) fn obstacle(error: &Error) -> Option<Obstacle> {
    let Error::Io(error) = error else { return None };
    error.get_ref()?.downcast_ref().copied()
}

/// Whether the server is a standby.
pub(super) fn is_standby(error: &Error) -> bool {
    obstacle(error) == Some(Obstacle::Standby)
}
