//! Only the primary's rows count, because a standby lags behind it.
//!
//! A connection may lead to a standby: through a proxy or an address that moves, or after the server
//! was demoted. Each new connection is therefore asked before its first use, and each statement that
//! reads returns the answer again, beside its rows and from the same execution. Neither is sufficient
//! alone, because a statement whose snapshot a standby took just before its promotion would return "primary",
//! and a pooler may continue a session on another server.

use crate::{
    ReadConsistency, Timed,
    error::OpenFailure,
    span::describe,
    sql_error::postgres_code,
    statement::{Rows, Statement},
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

/// Why the rows of a server do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Obstacle {
    /// They may be outdated.
    #[error("the server is a standby")]
    Standby,
    /// Another server was promoted after it: that one has a higher timeline.
    #[error(
        "the server is a primary that was superseded: its timeline {timeline} is lower than \
         {highest}, which was seen; after a restore, restart this service"
    )]
    Superseded { timeline: i64, highest: i64 },
    /// No standby acknowledges them.
    #[error("synchronous_standby_names is empty, and DATABASE_READS=quorum requires it")]
    Asynchronous,
}

/// The highest timeline of a database that this process has seen; each promotion begins a higher one.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    highest: AtomicI64,
    /// Notified when a higher one was seen.
    raised: Notify,
    /// Whether the log says that a server tells none.
    log_unknown: OnceLock<()>,
}

impl Timeline {
    /// Succeeds if the server of this connection is a primary, and none was promoted after it. Returns
    /// its timeline; `None` if it tells none, as some managed servers.
    pub(super) async fn require_primary(
        &self,
        connection: &mut PgConnection,
    ) -> sqlx::Result<Option<i64>> {
        let sql = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN
            ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END";
        match sqlx::query_scalar::<_, Option<i64>>(sql)
            .fetch_one(&mut *connection)
            .await
        {
            Ok(timeline) => {
                let timeline = timeline.ok_or(Obstacle::Standby)?;
                self.see(timeline)?;
                Ok(Some(timeline))
            }
            Err(error) if tells_no_timeline(&error) => {
                self.log_unknown.get_or_init(|| {
                    let error = error.to_string();
                    tracing::warn!(
                        error,
                        "the server tells no timeline, so a primary that was superseded and returns \
                         is not recognized; see Managed PostgreSQL in docs/scaling-and-availability.md"
                    );
                });
                require_no_recovery(connection).await.map(|()| None)
            }
            Err(error) => Err(error),
        }
    }

    /// The same for a connection whose server told this timeline when it was opened.
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

    /// Fails if a higher one was seen.
    fn see(&self, timeline: i64) -> Result<(), Obstacle> {
        let highest = self.highest.fetch_max(timeline, Ordering::SeqCst);
        if timeline < highest {
            return Err(Obstacle::Superseded { timeline, highest });
        }
        if timeline > highest {
            self.raised.notify_waiters();
        }
        Ok(())
    }

    /// Whether a higher one was seen.
    pub(super) fn is_superseded(&self, timeline: Option<i64>) -> bool {
        timeline.is_some_and(|timeline| timeline < self.highest.load(Ordering::Relaxed))
    }

    /// Waits until a higher one was seen.
    pub(super) async fn superseded(&self, timeline: Option<i64>) -> Obstacle {
        loop {
            // Created before the load, or a notification between them would be lost.
            let raised = self.raised.notified();
            let highest = self.highest.load(Ordering::SeqCst);
            if let Some(timeline) = timeline.filter(|timeline| *timeline < highest) {
                return Obstacle::Superseded { timeline, highest };
            }
            raised.await;
        }
    }
}

/// Whether the functions of the WAL are not supported (0A000, 55000), missing or forbidden.
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

/// Succeeds if writes of this connection wait for a synchronous standby.
pub(super) async fn require_synchronous(connection: &mut PgConnection) -> Result<(), OpenFailure> {
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
    Err(OpenFailure::Reads(problem))
}

/// The rows of a `SELECT`, if they count.
pub(crate) async fn fetch_from_primary(
    statement: Statement,
    connection: &mut PgConnection,
    reads: ReadConsistency,
) -> sqlx::Result<Timed<Rows>> {
    let (sql, values) = statement.into_postgres()?;
    describe(&sql);
    let sql = AssertSqlSafe(with_obstacle(&sql, reads));
    rows_that_count(query_with(sql, values).fetch_all(connection).await?)
}

/// The statement with two more columns: the obstacle if there is one, and the time. It returns at least
/// one row: without rows of `select`, one whose other columns are NULL. `now()` is before the snapshot,
/// so nothing that was read is older. `OFFSET 0`: both are evaluated once, not for each row.
fn with_obstacle(select: &str, reads: ReadConsistency) -> String {
    format!(
        "SELECT r.*, server.obstacle, server.seconds FROM (
            SELECT {} AS obstacle, floor(date_part('epoch', now()))::bigint AS seconds OFFSET 0
        ) AS server LEFT JOIN (SELECT s.*, true AS is_row FROM ({select}) AS s) AS r ON true",
        reads.obstacle()
    )
}

/// The rows of a statement of [`with_obstacle`].
fn rows_that_count(rows: Vec<PgRow>) -> sqlx::Result<Timed<Rows>> {
    let first = rows.first().ok_or(Error::RowNotFound)?;
    match first.try_get(first.len() - 2)? {
        None => {}
        Some("standby") => return Err(Obstacle::Standby.into()),
        Some(_) => return Err(Obstacle::Asynchronous.into()),
    }
    let seconds: i64 = first.try_get(first.len() - 1)?;
    let at = seconds
        .try_into()
        .map_err(|error| Error::Decode(Box::new(error)))?;
    let is_row: Option<bool> = first.try_get(first.len() - 3)?;
    let rows = if is_row.is_none() { Vec::new() } else { rows };
    Ok(Timed {
        at,
        value: Rows::Postgres(rows),
    })
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

/// Whether the server is a standby, or may have become one.
pub(super) fn is_standby(error: &Error) -> bool {
    matches!(
        obstacle(error),
        Some(Obstacle::Standby | Obstacle::Superseded { .. })
    )
}

#[cfg(test)]
mod tests;
