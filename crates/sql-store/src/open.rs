//! Opens a database, and explains why it cannot be opened.
//!
//! [`DatabaseUrl::open`] tries again after each error that may be temporary, for example while a server is
//! starting. Any other error becomes the [`Failure`] with which the program exits.

use crate::{
    Database, DatabaseTarget, DatabaseUrl, Engine, FileClock, Tables,
    error::OpenFailure,
    postgres,
    retry::Backoff,
    sql_error::{
        AUTH, BUSY, CANTOPEN, LOCKED, NOTADB, PERM, READONLY, cause, is_tls_mismatch, is_transient,
        pooler_problem, postgres_code, sqlite_code,
    },
    sqlite,
    url::READS,
};
use futures_util::future::LocalBoxFuture;
use rolegate_program::{failure::Failure, settings::SettingError};
use std::{fs::File, io, path::Path, time::Duration};
use tempfile::tempfile_in;

impl DatabaseUrl {
    /// Opens the database and migrates its schema.
    ///
    /// While the server is unavailable or another process locks the database, this function keeps trying and
    /// logs each failed attempt. On PostgreSQL, each step of an attempt has a time limit. Any other error is
    /// returned.
    ///
    /// `clock` determines what happens to the clock of an SQLite file. Unless it is [`FileClock::Unused`], the
    /// tables must include one named `clock`. A database in memory ignores `clock`.
    #[must_use]
    pub fn open<'a>(
        &'a self,
        tables: &'a Tables,
        clock: FileClock,
    ) -> LocalBoxFuture<'a, Result<Database, Failure>> {
        // The future is boxed, because each crate that awaits an `async fn` compiles it anew, with all of sqlx.
        Box::pin(async move {
            let store = &self.target;
            let mut backoff = Backoff::default();
            let mut migration_timeout = postgres::MIGRATION_TIMEOUT;
            loop {
                match self.try_open(tables, clock, &mut migration_timeout).await {
                    Ok(engine) => return Ok(Database::new(engine, tables)),
                    Err(OpenFailure::Failed(error)) if is_temporary(store, &error) => {
                        let error = explain(&error);
                        tracing::warn!(%store, error, "waiting for the database");
                    }
                    Err(failure) => return Err(self.failure(failure)),
                }
                backoff.wait().await;
            }
        })
    }

    async fn try_open(
        &self,
        tables: &Tables,
        clock: FileClock,
        migration_timeout: &mut Duration,
    ) -> Result<Engine, OpenFailure> {
        match &self.target {
            DatabaseTarget::Postgres(servers) => {
                // This future and those below are boxed, because the future of the migrator is large.
                let open = Box::pin(postgres::open(self, servers, tables, migration_timeout));
                Ok(Engine::Postgres(open.await?))
            }
            DatabaseTarget::Sqlite(name) if self.is_in_memory => {
                let open = Box::pin(sqlite::open_in_memory(name, tables));
                Ok(Engine::Sqlite(open.await?))
            }
            DatabaseTarget::Sqlite(file) => {
                let open = Box::pin(sqlite::open(file, tables, clock));
                #[cfg(simulation)]
                let open = crate::simulated::at_once(open);
                Ok(Engine::Sqlite(open.await?))
            }
        }
    }

    /// Turns a failure into one line that names the setting or the database.
    ///
    /// It also distinguishes a wrong setting, for which a retry does not help, from a failure of the machine,
    /// the network or the server.
    pub(crate) fn failure(&self, failure: OpenFailure) -> Failure {
        let target = &self.target;
        let error = match failure {
            OpenFailure::Setting(problem) => return self.invalid(problem).into(),
            OpenFailure::Reads(problem) => return SettingError::new(READS, problem).into(),
            OpenFailure::Unrecognized(why) => {
                return self.invalid(format!("{target} {why}")).into();
            }
            OpenFailure::Failed(error) => error,
        };
        let Some(problem) = find_setting_problem(target, &error) else {
            return format!("cannot open {target}: {error}").into();
        };
        let invalid = self.invalid(problem);
        if let DatabaseTarget::Sqlite(file) = target
            && let Some(CANTOPEN | READONLY) = sqlite_code(cause(&error))
        {
            return match try_file(file) {
                // The file can be opened now, so the cause was temporary. SQLite may have run out of file
                // descriptors.
                Ok(()) => invalid.transient().into(),
                Err(error) => invalid.transient_if_retryable(&error).into(),
            };
        }
        invalid.into()
    }
}

/// Checks that the file can be opened to write, and that a file can be created in its folder. Unlike an error
/// of SQLite, the returned error says why the file cannot be opened.
fn try_file(file: &Path) -> io::Result<()> {
    File::options().read(true).write(true).open(file)?;
    tempfile_in(sqlite::folder(file)).map(drop)
}

/// Returns whether a later attempt to open the database may succeed.
///
/// No later attempt succeeds if the server does not offer the TLS that the URL requires, or if the URL leads to
/// a pooler that is not supported. With an SQLite file, a later attempt may succeed only if another process
/// holds a lock on the file, or if the disk does not answer.
fn is_temporary(store: &DatabaseTarget, error: &sqlx::Error) -> bool {
    match store {
        DatabaseTarget::Postgres(_) => {
            is_transient(error) && !is_tls_mismatch(error) && pooler_problem(error).is_none()
        }
        // The pool and the connection that it opens have the same timeout, so either error may come first.
        DatabaseTarget::Sqlite(_) => {
            matches!(error, sqlx::Error::PoolTimedOut)
                || matches!(sqlite_code(cause(error)), Some(BUSY | LOCKED))
        }
    }
}

/// Describes what is wrong with the setting. Returns `None` if the setting is not the cause, but the machine,
/// the network or the server.
fn find_setting_problem(target: &DatabaseTarget, error: &sqlx::Error) -> Option<String> {
    match target {
        DatabaseTarget::Postgres(_) if let Some(problem) = pooler_problem(error) => {
            Some(format!("{target} {problem}"))
        }
        DatabaseTarget::Postgres(_) if is_tls_mismatch(error) => Some(format!(
            "{target} does not offer the TLS that the URL requires: {error}"
        )),
        DatabaseTarget::Postgres(_) => None,
        DatabaseTarget::Sqlite(file) => match sqlite_code(error)? {
            NOTADB => Some(format!("{} is not an SQLite database", file.display())),
            PERM | READONLY | CANTOPEN | AUTH => Some(format!(
                "{} cannot be opened to read and write: {error}",
                file.display()
            )),
            _ => None,
        },
    }
}

fn explain(error: &sqlx::Error) -> String {
    if postgres_code(cause(error)) == Some("55P03") {
        return format!("another session holds a lock that the migration needs: {error}");
    }
    if matches!(error, sqlx::Error::PoolTimedOut) {
        // This can only be SQLite: the pool of PostgreSQL returns another error.
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
        assert_eq!(
            line,
            "another process locks the file, or the disk does not answer"
        );
    }
}
