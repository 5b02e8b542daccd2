//! Why a statement failed, or a database was not opened.

use crate::sql_error::{FULL, READONLY, is_transient, pooler_problem, postgres_code, sqlite_code};
use rolegate_batcher::SubmitError;
use rolegate_proto::Reason;
use sqlx::{Error, error::DatabaseError};
use std::{io, sync::Arc};

/// Why a statement failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is unreachable or overloaded; a retry may succeed.
    #[error("the database is unavailable")]
    Unavailable(#[source] Arc<Error>),
    /// No response within [`STATEMENT_TIMEOUT`](crate::STATEMENT_TIMEOUT).
    #[error("the database did not respond in time")]
    TimedOut,
    /// The database cannot write now. This write was not done.
    #[error("the database cannot write: {0}")]
    ReadOnly(Arc<str>),
    /// The commit was sent, and not answered: within [`STATEMENT_TIMEOUT`](crate::STATEMENT_TIMEOUT), or
    /// because the connection or the disk failed. The write may be done, also later.
    #[error("{problem}; the outcome is unknown")]
    OutcomeUnknown {
        /// Why there is no answer.
        problem: &'static str,
        /// The error of the connection or the disk; `None` after a timeout.
        source: Option<Arc<Error>>,
    },
    /// The task that ran the batched read panicked or was cancelled.
    #[error("the batched read was dropped")]
    Lost(#[source] SubmitError),
    /// The database rejected the statement: a bug, or corrupt data.
    #[error("the database rejected the statement")]
    Failed(#[source] Arc<Error>),
}

impl StoreError {
    /// A statement that always finds a row has found none: a bug, or somebody has deleted it.
    pub fn row_not_found() -> Self {
        Self::Failed(Arc::new(Error::RowNotFound))
    }

    /// Whether one value of the statement, or of the rows that it found, is the reason. The same
    /// statement may succeed without it.
    pub(crate) fn is_data_error(&self) -> bool {
        let Self::Failed(error) = self else {
            return false;
        };
        match &**error {
            Error::Encode(_) | Error::Decode(_) | Error::ColumnDecode { .. } => true,
            // "Data exception".
            error => postgres_code(error).is_some_and(|code| code.starts_with("22")),
        }
    }

    /// Whether another row has the same unique value.
    pub fn is_unique_violation(&self) -> bool {
        let Self::Failed(error) = self else {
            return false;
        };
        error
            .as_database_error()
            .is_some_and(DatabaseError::is_unique_violation)
    }

    /// The error of a write that read: nothing of it is unknown.
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

    /// The reason of the contract.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unavailable(_) | Self::TimedOut => Reason::StoreUnavailable,
            Self::ReadOnly(_) => Reason::StoreReadOnly,
            Self::OutcomeUnknown { .. } => Reason::OutcomeUnknown,
            Self::Lost(_) | Self::Failed(_) => Reason::Internal,
        }
    }

    /// Whether the write may be done nevertheless.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::OutcomeUnknown { .. })
    }

    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        if let Some(READONLY | FULL) = sqlite_code(&error) {
            // SQLite has rolled back.
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

/// Why a database was not opened; does not know its setting yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenFailure {
    /// The problem, as it follows the name of the setting.
    #[error("{0}")]
    Setting(String),
    /// Not a schema of this service, or a damaged one; migrations cannot fix it. The problem, as it
    /// follows the name of the database.
    #[error("{0}")]
    Unrecognized(String),
    /// The problem of the setting `DATABASE_READS`.
    #[error("{0}")]
    Reads(&'static str),
    #[error(transparent)]
    Failed(#[from] Error),
}
