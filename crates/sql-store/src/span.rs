//! Gives the statements of a traced request their spans.

use crate::StoreError;
use rolegate_program::traces;
use tracing::{Instrument as _, Span, field::Empty, info_span};

/// Runs a statement in a span. `system` is the name of the engine in spans.
pub(crate) async fn trace<T>(
    system: &'static str,
    statement: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let span = statement_span(system);
    let outcome = statement.instrument(span.clone()).await;
    if outcome.is_err() {
        span.record("otel.status_code", "ERROR");
    }
    outcome
}

/// Creates the span of a statement by the semantic conventions of OpenTelemetry for databases.
///
/// The statement adds its operation and its table when it runs.
fn statement_span(system: &'static str) -> Span {
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

/// Adds the operation and the table of a statement to its span, which is the current one, and names the span after
/// both.
pub(crate) fn describe(sql: &str) {
    let span = Span::current();
    let statement = main_statement(sql);
    let operation = find_operation(statement);
    span.record("db.operation.name", operation);
    if let Some(table) = find_table(statement) {
        span.record("db.collection.name", table);
        traces::rename(&span, format!("{operation} {table}"));
    }
}

/// Returns the main statement of a text, which is the first statement in its `WITH` clause if it begins with
/// one, and otherwise the whole text.
fn main_statement(sql: &str) -> &str {
    let definition = sql
        .strip_prefix("WITH ")
        .and_then(|rest| rest.split_once(" AS ("));
    match definition {
        Some((_name, statement)) => statement,
        None => sql,
    }
}

fn find_operation(statement: &str) -> &str {
    statement.split_whitespace().next().unwrap_or_default()
}

/// Returns the first table that a statement names after its columns, which may contain statements of their own. In the
/// statements of this project, it is the table that the statement is about.
fn find_table(statement: &str) -> Option<&str> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let precedes_table = |word: &str| ["FROM", "INTO", "UPDATE"].contains(&word);
    let mut depth = 0;
    let start = words.iter().position(|word| {
        let is_outside = depth == 0;
        depth += word.matches('(').count();
        depth -= word.matches(')').count().min(depth);
        is_outside && precedes_table(word)
    })?;
    words[start..]
        .windows(2)
        .filter(|pair| precedes_table(pair[0]))
        .map(|pair| pair[1].trim_matches(['"', '(', ')']))
        .find(|name| !name.is_empty() && *name != "SELECT")
}

#[cfg(test)]
mod tests {
    use super::{find_operation, find_table, main_statement};

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
            (
                r#"SELECT id, (SELECT max(until) FROM membership WHERE (user_id = id)) FROM "user""#,
                "SELECT",
                Some("user"),
            ),
            ("SELECT count(*)", "SELECT", None),
            ("", "", None),
        ] {
            let statement = main_statement(sql);
            assert_eq!(find_operation(statement), operation, "{sql}");
            assert_eq!(find_table(statement), table, "{sql}");
        }
    }
}
