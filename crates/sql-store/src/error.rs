//! Why a database was not opened.

use crate::DatabaseTarget;
use rolegate_program::{program::Failure, settings::SettingError};

/// Why a database was not opened. Prints as one line that names the setting or the database.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The setting leads to something that is not a database of this service; a retry does not help.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The setting may be right: the machine, the network or the server failed.
    #[error("cannot open {target}: {error}")]
    Failed {
        /// The database.
        target: DatabaseTarget,
        /// The error of the engine or the system.
        error: sqlx::Error,
    },
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Setting(error) => Self::Setting(error),
            failed @ OpenError::Failed { .. } => Self::Other(Box::new(failed)),
        }
    }
}

/// An [`OpenError`] that does not know its setting yet.
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
    Reads(String),
    #[error(transparent)]
    Failed(#[from] sqlx::Error),
}
