//! Opens a database.

use crate::{
    Database, DatabaseTarget, DatabaseUrl, OpenError, Tables,
    error::OpenFailure,
    postgres,
    retry::{Backoff, is_lock_timeout},
    sqlite,
    url::READS,
};
use rolegate_program::settings::SettingError;

impl DatabaseUrl {
    /// Opens the database and migrates its schema. While the server is unavailable or another process
    /// locks the database, each try ends at a deadline, and the next one follows after a log line; any
    /// other error ends the opening.
    pub async fn open(&self, tables: &Tables) -> Result<Database, OpenError> {
        self.open_for(tables, None).await
    }

    async fn open_for(
        &self,
        tables: &Tables,
        advances_clock: Option<bool>,
    ) -> Result<Database, OpenError> {
        let store = self.target();
        let mut backoff = Backoff::default();
        let mut migration_timeout = postgres::MIGRATION_TIMEOUT;
        loop {
            let opened = match store {
                DatabaseTarget::Postgres(servers) => {
                    // On the heap: the migrator's future is large.
                    let opened =
                        postgres::open(servers, tables, self.reads(), &mut migration_timeout);
                    Box::pin(opened).await.map(Database::Postgres)
                }
                DatabaseTarget::Sqlite(file) => {
                    let opened = sqlite::open(file, tables, advances_clock);
                    Box::pin(opened).await.map(Database::Sqlite)
                }
            };
            match opened {
                Err(OpenFailure::Failed(error)) if may_recover(store, &error) => {
                    let error = explain(&error);
                    tracing::warn!(%store, error, "waiting for the database");
                }
                outcome => return outcome.map_err(|failure| self.open_error(failure)),
            }
            backoff.wait().await;
        }
    }

    /// Opens a database whose tables include `clock` in SQLite, and starts its clock. A service advances
    /// it to the time of the system; a command must not, because a service may be running.
    pub async fn open_with_clock(
        &self,
        tables: &Tables,
        is_service: bool,
    ) -> Result<Database, OpenError> {
        self.open_for(tables, Some(is_service)).await
    }

    /// Names the setting or the database, and tells a wrong setting from a failure.
    pub(crate) fn open_error(&self, failure: OpenFailure) -> OpenError {
        let target = self.target();
        let error = match failure {
            OpenFailure::Setting(problem) => return self.invalid(problem).into(),
            OpenFailure::Reads(problem) => return SettingError::new(READS, problem).into(),
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

fn may_recover(store: &DatabaseTarget, error: &sqlx::Error) -> bool {
    match store {
        DatabaseTarget::Postgres(_) => postgres::may_recover(error),
        DatabaseTarget::Sqlite(_) => sqlite::may_recover(error),
    }
}

fn explain(error: &sqlx::Error) -> String {
    if is_lock_timeout(error) {
        return format!("another session holds a lock that the migration needs: {error}");
    }
    if matches!(error, sqlx::Error::PoolTimedOut) {
        // Of SQLite: PostgreSQL has another pool.
        return "another process locks the file, or the disk does not answer".to_owned();
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn a_file_that_cannot_be_opened_in_time_may_be_locked_or_on_a_disk_that_does_not_answer() {
        let line = explain(&sqlx::Error::PoolTimedOut);
        assert_eq!(line, "another process locks the file, or the disk does not answer");
    }
}
