//! A statement within its time, and what its errors mean.

use crate::transient;
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::time::error::Elapsed;
use tracing::{Instrument as _, Span, field::Empty, info_span};

/// Longest time for one statement, from asking for a connection to the last row.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);

/// A statement, or several, under way on a connection.
pub type QueryFuture<'c, T> = Pin<Box<dyn Future<Output = sqlx::Result<T>> + Send + 'c>>;

/// The database cannot do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached, is overloaded or did not answer in time: later may be better.
    #[error("the database is unavailable")]
    Unavailable(#[source] Arc<sqlx::Error>),
    /// It did not answer within [`STATEMENT_TIMEOUT`].
    #[error("the database did not answer in time")]
    TimedOut,
    /// The statement was shared with others, and whoever sent it for all of them broke.
    #[error("a shared look-up broke")]
    Lost(#[from] rolegate_batcher::BatchDropped),
    /// It answered with an error: a fault of ours or of its data.
    #[error("the database refused a statement")]
    Failed(#[source] Arc<sqlx::Error>),
}

/// Runs a statement on SQLite within [`STATEMENT_TIMEOUT`] and sorts its errors.
pub async fn with_timeout<T>(
    statement: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    traced("sqlite", statement).await
}

/// Runs a statement of `system` within [`STATEMENT_TIMEOUT`], as a span where its request is traced, and
/// sorts its errors.
pub(crate) async fn traced<T>(
    system: &'static str,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    // What no request asked for, such as the look whether the store answers, is not traced.
    let span = if Span::current().is_none() { Span::none() } else { span(system) };
    let timely = tokio::time::timeout(STATEMENT_TIMEOUT, statement).instrument(span.clone());
    let outcome = classify(timely.await);
    if outcome.is_err() {
        span.record("otel.status_code", "ERROR");
    }
    outcome
}

/// By OpenTelemetry's conventions for databases.
fn span(system: &'static str) -> Span {
    info_span!(
        "statement",
        otel.name = system,
        otel.kind = "client",
        otel.status_code = Empty,
        db.system.name = system,
    )
}

fn classify<T>(timely: Result<sqlx::Result<T>, Elapsed>) -> Result<T, StoreError> {
    match timely {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if transient::is_transient(&error) => {
            Err(StoreError::Unavailable(Arc::new(error)))
        }
        Ok(Err(error)) => Err(StoreError::Failed(Arc::new(error))),
        Err(_elapsed) => Err(StoreError::TimedOut),
    }
}
