//! Why a database was not opened.

use crate::DatabaseTarget;
use rolegate_service_runtime::settings::SettingError;

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

/// An [`OpenError`] that does not know its setting yet.
#[derive(Debug)]
pub(crate) enum OpenFailure {
    /// The problem, as it follows the name of the setting.
    Setting(String),
    /// The problem, as it follows the name of the database.
    Unrecognized(String),
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for OpenFailure {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}
