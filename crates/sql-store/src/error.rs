//! The errors of statements, and of databases that cannot be opened.

use crate::sql_error::{FULL, READONLY, is_transient, pooler_problem, postgres_code, sqlite_code};
use rolegate_batcher::SubmitError;
use rolegate_proto::Reason;
use sqlx::{Error, error::DatabaseError};
use std::{io, sync::Arc};

/// The reason why a statement failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is unreachable or overloaded; a retry may succeed.
    #[error("the database is unavailable")]
    Unavailable(#[source] Arc<Error>),
    /// The database did not respond within the time limit, which is
    /// [`STATEMENT_TIMEOUT`](crate::STATEMENT_TIMEOUT) except in a [`LongTransaction`](crate::LongTransaction).
    #[error("the database did not respond in time")]
    TimedOut,
    /// The database cannot write now, so this write was not done.
    #[error("the database cannot write: {0}")]
    ReadOnly(Arc<str>),
    /// The commit was sent, but no answer has come: the time limit has passed, or the connection or the disk
    /// failed. The write may have been done, or may still be done later.
    #[error("{problem}; the outcome is unknown")]
    OutcomeUnknown {
        /// The reason why there is no answer.
        problem: &'static str,
        /// The error of the connection or the disk; `None` after a timeout.
        source: Option<Arc<Error>>,
    },
    /// The task that ran the batched read panicked or was cancelled.
    #[error("the batched read was dropped")]
    Lost(#[source] SubmitError),
    /// The statement failed, and a retry does not help: for example, another row has the same unique value, a
    /// value cannot be encoded or decoded, or the SQL has a bug.
    #[error("the database rejected the statement")]
    Failed(#[source] Arc<Error>),
}

impl StoreError {
    /// Returns the error for a statement that should always find a row, but found none. Either there is a bug,
    /// or the row was deleted by hand.
    pub fn row_not_found() -> Self {
        Self::Failed(Arc::new(Error::RowNotFound))
    }

    /// Returns whether the statement failed because of one of its values, or one of the rows that it found.
    /// Without that value or row, the statement may succeed.
    pub(crate) fn is_data_error(&self) -> bool {
        let Self::Failed(error) = self else {
            return false;
        };
        match &**error {
            Error::Encode(_) | Error::Decode(_) | Error::ColumnDecode { .. } => true,
            // Class 22 of the SQLSTATEs is "data exception".
            error => postgres_code(error).is_some_and(|code| code.starts_with("22")),
        }
    }

    /// Returns whether the statement failed because another row has the same unique value.
    pub fn is_unique_violation(&self) -> bool {
        let Self::Failed(error) = self else {
            return false;
        };
        error
            .as_database_error()
            .is_some_and(DatabaseError::is_unique_violation)
    }

    /// Turns the error of a read that ran as a write into the error of a read. A read changes nothing, so an
    /// unknown outcome or a refusal to write means only that the database did not answer.
    pub(crate) fn into_read_error(self) -> Self {
        match self {
            Self::OutcomeUnknown {
                source: Some(error),
                ..
            } => Self::Unavailable(error),
            Self::OutcomeUnknown { source: None, .. } | Self::ReadOnly(_) => Self::TimedOut,
            other => other,
        }
    }

    /// Returns the reason by which clients of the gRPC contract recognize this error.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unavailable(_) | Self::TimedOut => Reason::StoreUnavailable,
            Self::ReadOnly(_) => Reason::StoreReadOnly,
            Self::OutcomeUnknown { .. } => Reason::OutcomeUnknown,
            Self::Lost(_) | Self::Failed(_) => Reason::Internal,
        }
    }

    /// Returns whether the write may have been done although it failed.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::OutcomeUnknown { .. })
    }

    /// Returns whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        if let Some(READONLY | FULL) = sqlite_code(&error) {
            // SQLite has rolled the write back, so its outcome is known.
            return Self::ReadOnly(error.to_string().into());
        }
        if let Some(problem) = pooler_problem(&error) {
            let error = Error::Configuration(format!("PostgreSQL {problem}").into());
            return Self::Unavailable(Arc::new(error));
        }
        if is_transient(&error) {
            Self::Unavailable(Arc::new(error))
        } else {
            Self::Failed(Arc::new(error))
        }
    }
}

impl From<SubmitError> for StoreError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::BatchDropped => Self::Lost(error),
            SubmitError::QueueFull => Error::Io(io::Error::other(error)).into(),
        }
    }
}

/// The reason why a database was not opened. It does not contain the name of the setting, which the caller
/// adds.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenFailure {
    /// The setting is wrong. The message is printed after the name of the setting.
    #[error("{0}")]
    Setting(String),
    /// The schema is damaged, or belongs to another program, so migrations cannot fix it. The message is
    /// printed after the name of the database.
    #[error("{0}")]
    Unrecognized(String),
    /// The setting `DATABASE_READS` does not fit the server. The message is printed after the name of the
    /// setting.
    #[error("{0}")]
    Reads(&'static str),
    #[error(transparent)]
    Failed(#[from] Error),
}
