//! Statements in progress: their timeout and their spans.

use crate::StoreError;
use rolegate_telemetry::traces;
use std::{pin::Pin, time::Duration};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, Span, field::Empty, info_span};

/// Limit of a statement, from waiting for a connection to the last row.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);

/// The execution of one or more statements on a connection.
pub type QueryFuture<'c, T> = Pin<Box<dyn Future<Output = sqlx::Result<T>> + Send + 'c>>;

/// Runs a statement of `system` until `deadline`, in a span if the request is traced, and classifies its
/// errors.
pub(crate) async fn traced<T>(
    system: &'static str,
    deadline: Instant,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    // Statements outside a request, such as the readiness check, are not traced.
    let span = if Span::current().is_none() {
        Span::none()
    } else {
        // By the semantic conventions of OpenTelemetry for databases. The statement adds its operation
        // and its table when it runs.
        info_span!(
            "statement",
            otel.name = system,
            otel.kind = "client",
            otel.status_code = Empty,
            db.system.name = system,
            db.operation.name = Empty,
            db.collection.name = Empty,
        )
    };
    let outcome = match timeout_at(deadline, statement)
        .instrument(span.clone())
        .await
    {
        Ok(outcome) => outcome.map_err(StoreError::from),
        Err(_elapsed) => Err(StoreError::TimedOut),
    };
    if outcome.is_err() {
        span.record("otel.status_code", "ERROR");
    }
    outcome
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
    // What follows a name, for statements of it, is what they are about.
    let definition = sql
        .strip_prefix("WITH ")
        .and_then(|rest| rest.split_once(" AS ("));
    let words = definition
        .map_or(sql, |(_, statement)| statement)
        .split_whitespace();
    let operation = words.clone().next().unwrap_or_default();
    let names = words.clone().zip(words.skip(1));
    let names = names.filter(|(word, _)| ["FROM", "INTO", "UPDATE"].contains(word));
    let mut names = names.map(|(_, name)| name.trim_matches(['"', '(', ')']));
    (
        operation,
        names.find(|name| !name.is_empty() && *name != "SELECT"),
    )
}

#[cfg(test)]
mod tests {
    use super::operation_and_table;

    #[test]
    fn statements_of_both_services_have_an_operation_and_a_table() {
        for (sql, operation, table) in [
            (
                r#"SELECT id, role FROM "user" WHERE id = ANY($1)"#,
                "SELECT",
                Some("user"),
            ),
            (
                r#"INSERT INTO "user" (username) VALUES ($1)"#,
                "INSERT",
                Some("user"),
            ),
            (
                r#"UPDATE "user" SET role = $2 WHERE id = $1"#,
                "UPDATE",
                Some("user"),
            ),
            (
                r#"DELETE FROM "user" WHERE id = $1"#,
                "DELETE",
                Some("user"),
            ),
            (
                r#"WITH written AS (UPDATE "user" SET role = $2), r AS (INSERT INTO audit)"#,
                "UPDATE",
                Some("user"),
            ),
            (
                "SELECT count(*) FROM (SELECT 1 FROM post LIMIT 1)",
                "SELECT",
                Some("post"),
            ),
            ("SELECT\n  id\nFROM post", "SELECT", Some("post")),
            ("SELECT count(*)", "SELECT", None),
            ("", "", None),
        ] {
            assert_eq!(operation_and_table(sql), (operation, table), "{sql}");
        }
    }
}
