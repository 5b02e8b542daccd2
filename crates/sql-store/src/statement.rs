//! Statements: their timeout, their spans and their errors.

use crate::{pooler::pooler_problem, sqlite_code::is_read_only, transient::is_transient};
use rolegate_batcher::SubmitError;
use rolegate_telemetry::traces;
use std::{io, pin::Pin, sync::Arc, time::Duration};
use tokio::time::{Instant, error::Elapsed, timeout_at};
use tracing::{Instrument as _, Span, field::Empty, info_span};

/// Limit of a statement, from waiting for a connection to the last row.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);

/// The execution of one or more statements on a connection.
pub type QueryFuture<'c, T> = Pin<Box<dyn Future<Output = sqlx::Result<T>> + Send + 'c>>;

/// Why a statement failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is unreachable or overloaded; a retry may succeed.
    #[error("the database is unavailable")]
    Unavailable(#[source] Arc<sqlx::Error>),
    /// No response within [`STATEMENT_TIMEOUT`].
    #[error("the database did not respond in time")]
    TimedOut,
    /// The database cannot write now. This write was not done.
    #[error("the database cannot write: {0}")]
    ReadOnly(Arc<str>),
    /// The commit was sent, and not answered: within [`STATEMENT_TIMEOUT`], or because the connection or
    /// the disk failed. The write may be done, also later.
    #[error("{0}; the outcome is unknown")]
    OutcomeUnknown(&'static str, #[source] Option<Arc<sqlx::Error>>),
    /// The task that ran the batched read panicked or was cancelled.
    #[error("the batched read was dropped")]
    Lost(#[source] SubmitError),
    /// The database rejected the statement: a bug, or corrupt data.
    #[error("the database rejected the statement")]
    Failed(#[source] Arc<sqlx::Error>),
}

impl StoreError {
    /// Whether one value of the statement, or of the rows that it found, is the reason. The same
    /// statement may succeed without it.
    #[must_use]
    pub fn is_of_data(&self) -> bool {
        let Self::Failed(error) = self else { return false };
        match &**error {
            sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => {
                true
            }
            // PostgreSQL, appendix A: class 22 is "data exception". Codes of SQLite are shorter.
            sqlx::Error::Database(error) => {
                error.code().is_some_and(|code| code.len() == 5 && code.starts_with("22"))
            }
            _ => false,
        }
    }

    /// The error of a write that read: nothing of it is unknown.
    pub(crate) fn of_read(self) -> Self {
        match self {
            Self::OutcomeUnknown(_, Some(error)) => Self::Unavailable(error),
            Self::OutcomeUnknown(_, None) | Self::ReadOnly(_) => Self::TimedOut,
            other => other,
        }
    }

    /// Whether the write may be done nevertheless.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::OutcomeUnknown(..))
    }

    /// Whether a retry may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

impl From<SubmitError> for StoreError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::BatchDropped => Self::Lost(error),
            SubmitError::QueueFull => {
                Self::Unavailable(Arc::new(sqlx::Error::Io(io::Error::other(error))))
            }
        }
    }
}

/// Runs an SQLite statement within [`STATEMENT_TIMEOUT`] and classifies its errors.
pub async fn with_timeout<T>(
    statement: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    traced("sqlite", statement).await
}

/// Runs a statement of `system` within [`STATEMENT_TIMEOUT`], in a span if the request is traced, and
/// classifies its errors.
pub(crate) fn traced<T>(
    system: &'static str,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> impl Future<Output = Result<T, StoreError>> {
    traced_until(system, Instant::now() + STATEMENT_TIMEOUT, statement)
}

/// The same, until `deadline`.
pub(crate) async fn traced_until<T>(
    system: &'static str,
    deadline: Instant,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    // Statements outside a request, such as the readiness check, are not traced.
    let span = if Span::current().is_none() { Span::none() } else { span(system) };
    let outcome = timeout_at(deadline, statement).instrument(span.clone()).await;
    let outcome = classify(outcome);
    if outcome.is_err() {
        span.record("otel.status_code", "ERROR");
    }
    outcome
}

/// By the semantic conventions of OpenTelemetry for databases. The statement adds its operation and its
/// table when it runs.
fn span(system: &'static str) -> Span {
    info_span!(
        "statement",
        otel.name = system,
        otel.kind = "client",
        otel.status_code = Empty,
        db.system.name = system,
        db.operation.name = Empty,
        db.collection.name = Empty,
    )
}

/// Adds the operation and the table of a statement to its span, which gets its name from both.
pub(crate) fn describe(sql: &str) {
    let span = Span::current();
    if span.is_none() {
        return;
    }
    let (operation, table) = operation_and_table(sql);
    span.record("db.operation.name", operation);
    if let Some(table) = table {
        span.record("db.collection.name", table);
        traces::rename(&span, format!("{operation} {table}"));
    }
}

/// Of a statement of ours, in which no table stands before the one that it is about.
fn operation_and_table(sql: &str) -> (&str, Option<&str>) {
    let mut words = sql.split_whitespace();
    let operation = words.clone().next().unwrap_or_default();
    let mut table = None;
    while let Some(word) = words.next() {
        if ["FROM", "INTO", "UPDATE"].contains(&word) {
            let name = words.clone().next().map(|name| name.trim_matches(['"', '(', ')']));
            table = name.filter(|name| !name.is_empty() && *name != "SELECT");
            if table.is_some() {
                break;
            }
        }
    }
    (operation, table)
}

fn classify<T>(outcome: Result<sqlx::Result<T>, Elapsed>) -> Result<T, StoreError> {
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) if is_read_only(&error) => {
            Err(StoreError::ReadOnly(error.to_string().into()))
        }
        Ok(Err(error)) if let Some(problem) = pooler_problem(&error) => {
            let error = sqlx::Error::Configuration(format!("PostgreSQL {problem}").into());
            Err(StoreError::Unavailable(Arc::new(error)))
        }
        Ok(Err(error)) if is_transient(&error) => Err(StoreError::Unavailable(Arc::new(error))),
        Ok(Err(error)) => Err(StoreError::Failed(Arc::new(error))),
        Err(_elapsed) => Err(StoreError::TimedOut),
    }
}

#[cfg(test)]
mod tests {
    use super::operation_and_table;

    #[test]
    fn statements_of_both_services_have_an_operation_and_a_table() {
        for (sql, operation, table) in [
            (r#"SELECT id, role FROM "user" WHERE id = ANY($1)"#, "SELECT", Some("user")),
            (r#"INSERT INTO "user" (username) VALUES ($1)"#, "INSERT", Some("user")),
            (r#"UPDATE "user" SET role = $2 WHERE id = $1"#, "UPDATE", Some("user")),
            (r#"DELETE FROM "user" WHERE id = $1"#, "DELETE", Some("user")),
            ("SELECT count(*) FROM (SELECT 1 FROM post LIMIT 1)", "SELECT", Some("post")),
            ("SELECT\n  id\nFROM post", "SELECT", Some("post")),
            ("SELECT count(*)", "SELECT", None),
            ("", "", None),
        ] {
            assert_eq!(operation_and_table(sql), (operation, table), "{sql}");
        }
    }
}
