//! Steps of opening a database: each has a deadline, and is tried again after a growing delay.

use crate::transient::cause;
use sqlx::{Error, error::DatabaseError};
use std::{io, time::Duration};

const MIN_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// `query_canceled` of PostgreSQL: the statement timeout.
const QUERY_CANCELED: &str = "57014";
/// `lock_not_available` of PostgreSQL.
const LOCK_TIMED_OUT: &str = "55P03";

/// The delays between tries: 0.1 seconds, doubled each time up to 5 seconds.
#[derive(Debug)]
pub struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(MIN_DELAY)
    }
}

impl Backoff {
    /// Waits for the delay before the next try.
    pub async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(MAX_DELAY);
    }
}

/// Runs a step within `limit`. `step` begins the error.
pub(crate) async fn within<T, E: From<Error>>(
    step: &str,
    limit: Duration,
    run: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let late = |_elapsed| {
        let problem = format!("{step}: no answer within {} seconds", limit.as_secs());
        Err(Error::Io(io::Error::new(io::ErrorKind::TimedOut, problem)).into())
    };
    tokio::time::timeout(limit, run).await.unwrap_or_else(late)
}

/// Whether time ran out: the deadline of [`within`], or that of the server.
pub(crate) fn is_timeout(error: &Error) -> bool {
    match cause(error) {
        Error::Io(error) => error.kind() == io::ErrorKind::TimedOut,
        error => has_code(error, QUERY_CANCELED),
    }
}

/// Whether the server ended the wait for a lock that another session holds.
pub(crate) fn is_lock_timeout(error: &Error) -> bool {
    has_code(cause(error), LOCK_TIMED_OUT)
}

fn has_code(error: &Error, expected: &str) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| code == expected)
}

#[cfg(test)]
mod tests {
    use super::{is_timeout, within};
    use sqlx::Error;
    use std::{future::pending, io, time::Duration};

    #[tokio::test(start_paused = true)]
    async fn a_step_without_an_answer_ends_at_its_deadline() {
        let silent = pending::<Result<(), Error>>();
        let error = within("cannot lock", Duration::from_secs(10), silent).await;
        let error = error.expect_err("too late");
        assert!(error.to_string().ends_with("cannot lock: no answer within 10 seconds"), "{error}");
        assert!(is_timeout(&error));
        assert!(!is_timeout(&Error::Io(io::ErrorKind::ConnectionReset.into())));
    }
}
