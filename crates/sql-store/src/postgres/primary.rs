//! Refuses the rows of any server but the primary, because a standby lags behind it.
//!
//! A connection may lead to a standby: through a proxy or an address that moves, or after the server was
//! demoted. So the server of each new connection is asked before the first use whether it is the primary. Each
//! statement that reads returns the answer again, beside its rows and from the same execution.
//!
//! Neither check is sufficient alone. A statement whose snapshot a standby took just before its promotion would
//! return "primary", and a pooler may continue a session on another server.

use crate::{
    ReadConsistency, Timed,
    row::{Rows, decode_seconds},
    span::describe,
    sql_error::postgres_code,
    statement::Statement,
};
use sqlx::{AssertSqlSafe, Error, PgConnection, Row as _, postgres::PgRow, query_with};
use std::{
    io,
    sync::{
        OnceLock,
        atomic::{AtomicI64, Ordering},
    },
};
use tokio::sync::Notify;
use tracing::Span;

/// The reason why the rows of a server are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Obstacle {
    /// The server is a standby, so its rows may be outdated.
    #[error("the server is a standby")]
    Standby,
    /// Another server was promoted after this one, and therefore has a higher timeline.
    #[error(
        "the server is a superseded primary: its timeline {timeline} is lower than {highest}, the \
         highest seen; after a restore, restart this service"
    )]
    Superseded { timeline: i64, highest: i64 },
    /// No standby acknowledges the rows, but the setting requires a quorum.
    #[error("synchronous_standby_names is empty, and DATABASE_READS=quorum requires it")]
    Asynchronous,
}

/// The highest timeline of a database that this process has seen. Each promotion of a standby begins a higher
/// one.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    highest: AtomicI64,
    /// Notified when a server has reported a higher timeline.
    raised: Notify,
    /// Filled once the log has mentioned a server that does not report its timeline, so that it is logged only
    /// once.
    unknown_logged: OnceLock<()>,
}

impl Timeline {
    /// Succeeds if the server of this connection is a primary, and no other server was promoted after it.
    /// Returns its timeline; `None` if the server does not report it, as some managed servers do not.
    pub(super) async fn require_primary(
        &self,
        connection: &mut PgConnection,
    ) -> sqlx::Result<Option<i64>> {
        let sql = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN
            ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END";
        let select = sqlx::query_scalar::<_, Option<i64>>(sql);
        match select.fetch_one(&mut *connection).await {
            Ok(timeline) => {
                let timeline = timeline.ok_or(Obstacle::Standby)?;
                self.observe(timeline)?;
                Ok(Some(timeline))
            }
            Err(error) if tells_no_timeline(&error) => {
                self.log_unknown(&error);
                require_no_recovery(connection).await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn log_unknown(&self, error: &Error) {
        self.unknown_logged.get_or_init(|| {
            let error = error.to_string();
            tracing::warn!(
                error,
                "the server does not report its timeline, so a superseded primary that comes back is not \
                 recognized; see Managed PostgreSQL in docs/scaling-and-availability.md"
            );
        });
    }

    /// Checks that the server of an open connection is still the primary. `timeline` is the one that the server
    /// reported when the connection was opened. If it is `None`, checks only that the server is not a standby.
    pub(super) async fn require_still_primary(
        &self,
        connection: &mut PgConnection,
        timeline: Option<i64>,
    ) -> sqlx::Result<()> {
        match timeline {
            Some(_) => self.require_primary(connection).await.map(drop),
            None => require_no_recovery(connection).await,
        }
    }

    /// Records the timeline of a server. If it is the highest so far, wakes the writes that wait for a
    /// promotion. Fails if a higher one was seen before.
    fn observe(&self, timeline: i64) -> Result<(), Obstacle> {
        let highest = self.highest.fetch_max(timeline, Ordering::SeqCst);
        if timeline < highest {
            return Err(Obstacle::Superseded { timeline, highest });
        }
        if timeline > highest {
            self.raised.notify_waiters();
        }
        Ok(())
    }

    /// Returns whether this process has seen a higher timeline than this one.
    pub(super) fn is_superseded(&self, timeline: Option<i64>) -> bool {
        timeline.is_some_and(|timeline| timeline < self.highest.load(Ordering::Relaxed))
    }

    /// Waits until this process has seen a higher timeline than this one, and returns both as an obstacle.
    /// Waits forever if `timeline` is `None`.
    pub(super) async fn wait_until_superseded(&self, timeline: Option<i64>) -> Obstacle {
        loop {
            // The listener is created before the load. Otherwise, a notification between the load and its
            // creation would be lost.
            let raised = self.raised.notified();
            let highest = self.highest.load(Ordering::SeqCst);
            if let Some(timeline) = timeline
                && timeline < highest
            {
                return Obstacle::Superseded { timeline, highest };
            }
            raised.await;
        }
    }
}

/// Returns whether the server cannot report its timeline, because the functions of the WAL are not supported
/// (0A000, 55000), missing (42883) or forbidden (42501).
fn tells_no_timeline(error: &Error) -> bool {
    matches!(
        postgres_code(error),
        Some("0A000" | "55000" | "42883" | "42501")
    )
}

async fn require_no_recovery(connection: &mut PgConnection) -> sqlx::Result<()> {
    let is_standby = sqlx::query_scalar("SELECT pg_is_in_recovery()")
        .fetch_one(connection)
        .await?;
    if is_standby {
        Err(Obstacle::Standby.into())
    } else {
        Ok(())
    }
}

/// Runs a `SELECT` and returns its rows, with the time of the read. Fails with an [`Obstacle`] if the rows are
/// not accepted.
pub(crate) async fn fetch_from_primary(
    statement: Statement,
    connection: &mut PgConnection,
    reads: ReadConsistency,
) -> sqlx::Result<Timed<Rows>> {
    let (sql, values) = statement.into_postgres()?;
    if !Span::current().is_none() {
        describe(&sql);
    }
    let sql = AssertSqlSafe(with_obstacle(&sql, reads));
    check_rows(query_with(sql, values).fetch_all(connection).await?)
}

/// Adds two columns to a statement: the obstacle if there is one, and the time.
///
/// The result has at least one row: if `select` returns none, the only row has NULL in all other columns.
/// `now()` is earlier than the snapshot, so the rows show the state of the database at that time or later.
/// `OFFSET 0` makes the server evaluate both columns once and not for each row.
fn with_obstacle(select: &str, reads: ReadConsistency) -> String {
    format!(
        "SELECT r.*, server.obstacle, server.seconds FROM (
            SELECT {} AS obstacle, floor(date_part('epoch', now()))::bigint AS seconds OFFSET 0
        ) AS server LEFT JOIN (SELECT s.*, true AS is_row FROM ({select}) AS s) AS r ON true",
        reads.obstacle()
    )
}

/// Takes the rows and the time from the result of a statement that [`with_obstacle`] has built. Fails if the
/// result names an obstacle.
fn check_rows(rows: Vec<PgRow>) -> sqlx::Result<Timed<Rows>> {
    let first = rows.first().ok_or(Error::RowNotFound)?;
    // The columns are read by position, because the columns of the statement itself may have any name.
    let is_row: Option<bool> = first.try_get(first.len() - 3)?;
    let obstacle: Option<&str> = first.try_get(first.len() - 2)?;
    let seconds: i64 = first.try_get(first.len() - 1)?;
    match obstacle {
        None => {}
        Some("standby") => return Err(Obstacle::Standby.into()),
        Some(_) => return Err(Obstacle::Asynchronous.into()),
    }
    let rows = if is_row.is_none() { Vec::new() } else { rows };
    Ok(Timed {
        at: decode_seconds(seconds)?,
        value: Rows::Postgres(rows),
    })
}

impl From<Obstacle> for Error {
    fn from(obstacle: Obstacle) -> Self {
        Self::Io(io::Error::other(obstacle))
    }
}

/// Returns the obstacle if it is the cause of the error; `None` for other errors.
pub(super) fn find_obstacle(error: &Error) -> Option<Obstacle> {
    let Error::Io(error) = error else { return None };
    error.get_ref()?.downcast_ref().copied()
}

/// Returns whether the error says that the server is a standby, or a superseded primary.
pub(super) fn is_standby(error: &Error) -> bool {
    matches!(
        find_obstacle(error),
        Some(Obstacle::Standby | Obstacle::Superseded { .. })
    )
}

#[cfg(test)]
mod tests;
