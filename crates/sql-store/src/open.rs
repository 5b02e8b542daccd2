//! Opens a database.

use crate::{
    DatabaseTarget, DatabaseUrl, OpenError, Tables,
    error::OpenFailure,
    postgres::{self, Pool},
    sqlite::{self, Pools},
};
use rolegate_service_runtime::{program::Failure, settings::SettingError};

/// An open database whose schema is up to date.
#[derive(Clone, Debug)]
pub enum Opened {
    /// On a PostgreSQL server.
    Postgres(Pool),
    /// In an SQLite file.
    Sqlite(Pools),
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
    /// Opens the database and migrates its schema. Retries while a PostgreSQL server is unavailable,
    /// with a log line each time; an SQLite file that cannot be opened is an error at once.
    pub async fn open(&self, tables: &Tables) -> Result<Opened, OpenError> {
        let opened = match self.target() {
            DatabaseTarget::Postgres(options) => {
                postgres::open(options, tables).await.map(Opened::Postgres)
            }
            DatabaseTarget::Sqlite(file) => sqlite::open(file, tables).await.map(Opened::Sqlite),
        };
        opened.map_err(|failure| self.open_error(failure))
    }

    /// Maps an error of this database as [`DatabaseUrl::open`] does.
    #[must_use]
    pub fn explain(&self, error: sqlx::Error) -> OpenError {
        self.open_error(match self.target() {
            DatabaseTarget::Postgres(options) => postgres::explain(options, error),
            DatabaseTarget::Sqlite(file) => sqlite::explain(file, error),
        })
    }

    /// The error of a database with a [`Schema::Unrecognized`](crate::Schema::Unrecognized).
    #[must_use]
    pub fn unrecognized(&self, why: &str) -> SettingError {
        self.invalid(format!("{} {why}", self.target()))
    }

    fn open_error(&self, failure: OpenFailure) -> OpenError {
        match failure {
            OpenFailure::Setting(problem) => self.invalid(problem).into(),
            OpenFailure::Unrecognized(why) => self.unrecognized(&why).into(),
            OpenFailure::Failed(error) => {
                OpenError::Failed { target: self.target().clone(), error }
            }
        }
    }
}
