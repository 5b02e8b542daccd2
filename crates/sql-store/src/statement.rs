//! A statement within its time, and what its errors mean.

use crate::unavailable;
use std::{sync::Arc, time::Duration};

/// Longest time for one statement, from asking for a connection to the last row.
pub const STATEMENT_TIME: Duration = Duration::from_secs(3);

/// The database cannot do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached, is overloaded or did not answer in time: later may be better.
    #[error("the database is unavailable")]
    Unavailable(#[source] Arc<sqlx::Error>),
    /// It did not answer within [`STATEMENT_TIME`].
    #[error("the database did not answer in time")]
    TimedOut,
    /// The statement was shared with others, and whoever sent it for all of them broke.
    #[error("a shared look-up broke")]
    Lost(#[from] group_commit::Lost),
    /// It answered with an error: a fault of ours or of its data.
    #[error("the database refused a statement")]
    Failed(#[source] Arc<sqlx::Error>),
}

/// Runs a statement within [`STATEMENT_TIME`] and sorts its errors.
pub async fn within<T>(statement: impl Future<Output = sqlx::Result<T>>) -> Result<T, StoreError> {
    match tokio::time::timeout(STATEMENT_TIME, statement).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if unavailable::is(&error) => Err(StoreError::Unavailable(Arc::new(error))),
        Ok(Err(error)) => Err(StoreError::Failed(Arc::new(error))),
        Err(_elapsed) => Err(StoreError::TimedOut),
    }
}
