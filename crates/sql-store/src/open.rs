//! From a URL to an open store, and what is said when there is none.

use crate::{DatabaseTarget, DatabaseUrl, Tables, postgres, sqlite};
use rolegate_service_runtime::{program::Failure, settings::SettingError};

/// An open store, its schema up to date.
#[derive(Clone, Debug)]
pub enum Opened {
    /// In PostgreSQL.
    Postgres(postgres::Pool),
    /// In an SQLite file.
    Sqlite(sqlite::Pools),
}

/// Why a store was not opened: one line, which names it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The setting leads to what can be no store of this service, however often it is tried.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The setting may be right: the machine, or we, failed.
    #[error("cannot open {target}: {error}")]
    Failed {
        /// The database.
        target: DatabaseTarget,
        /// What it, or the system, says.
        error: sqlx::Error,
    },
}

/// What [`OpenError`] is before it knows which setting led here.
#[derive(Debug)]
pub(crate) enum OpenFailure {
    /// Goes on from the name of the setting.
    Setting(String),
    /// Goes on from the name of the database.
    Unrecognized(String),
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for OpenFailure {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Setting(error) => Self::Setting(error),
            failed @ OpenError::Failed { .. } => Self::Other(Box::new(failed)),
        }
    }
}

impl DatabaseUrl {
    /// Opens the store and brings its schema up to date. A PostgreSQL that is not there (yet) is
    /// waited for, saying so; an SQLite file that cannot be opened will not get better by waiting.
    pub async fn open(&self, tables: &Tables) -> Result<Opened, OpenError> {
        let opened = match self.target() {
            DatabaseTarget::Postgres(options) => {
                postgres::open(options, tables).await.map(Opened::Postgres)
            }
            DatabaseTarget::Sqlite(file) => sqlite::open(file, tables).await.map(Opened::Sqlite),
        };
        opened.map_err(|trouble| self.not_opened(trouble))
    }

    /// What an error of this database says about it, in the words of [`DatabaseUrl::open`].
    #[must_use]
    pub fn explain(&self, error: sqlx::Error) -> OpenError {
        self.not_opened(match self.target() {
            DatabaseTarget::Postgres(options) => postgres::explain(options, error),
            DatabaseTarget::Sqlite(file) => sqlite::explain(file, error),
        })
    }

    /// The setting leads to a database with a [`Schema::Unrecognized`](crate::Schema::Unrecognized).
    #[must_use]
    pub fn unrecognized(&self, why: &str) -> SettingError {
        self.invalid(format!("{} {why}", self.target()))
    }

    fn not_opened(&self, trouble: OpenFailure) -> OpenError {
        match trouble {
            OpenFailure::Setting(problem) => self.invalid(problem).into(),
            OpenFailure::Unrecognized(why) => self.unrecognized(&why).into(),
            OpenFailure::Failed(error) => {
                OpenError::Failed { target: self.target().clone(), error }
            }
        }
    }
}
