//! Opens a database.

use crate::{
    Database, DatabaseTarget, DatabaseUrl, OpenError, Tables, error::OpenFailure, postgres, sqlite,
};

impl DatabaseUrl {
    /// Opens the database and migrates its schema. Retries while a PostgreSQL server is unavailable,
    /// with a log line each time; an SQLite file that cannot be opened is an error at once.
    pub async fn open(&self, tables: &Tables) -> Result<Database, OpenError> {
        let opened = match self.target() {
            DatabaseTarget::Postgres(options) => {
                postgres::open(options, tables).await.map(Database::Postgres)
            }
            DatabaseTarget::Sqlite(file) => sqlite::open(file, tables).await.map(Database::Sqlite),
        };
        opened.map_err(|failure| self.open_error(failure))
    }

    /// Names the setting or the database, and tells a wrong setting from a failure.
    pub(crate) fn open_error(&self, failure: OpenFailure) -> OpenError {
        let target = self.target();
        let error = match failure {
            OpenFailure::Setting(problem) => return self.invalid(problem).into(),
            OpenFailure::Unrecognized(why) => {
                return self.invalid(format!("{target} {why}")).into();
            }
            OpenFailure::Failed(error) => error,
        };
        let problem = match target {
            DatabaseTarget::Postgres(_) => postgres::setting_problem(target, &error),
            DatabaseTarget::Sqlite(file) => sqlite::setting_problem(file, &error),
        };
        match problem {
            Some(problem) => self.invalid(problem).into(),
            None => OpenError::Failed { target: target.clone(), error },
        }
    }
}
