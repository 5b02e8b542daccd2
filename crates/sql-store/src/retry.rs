//! Delays between attempts, and time limits for the parts of an attempt.

use sqlx::Error;
use std::{io, time::Duration};

/// The delays between attempts. Each delay is twice as long as the one before, up to a maximum.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    max: Duration,
}

impl Default for Backoff {
    /// Returns delays from 0.1 to 5 seconds.
    fn default() -> Self {
        Self::between(Duration::from_millis(100), Duration::from_secs(5))
    }
}

impl Backoff {
    pub(crate) fn between(min: Duration, max: Duration) -> Self {
        Self { next: min, max }
    }

    /// Waits for the current delay, and doubles the delay before the next attempt.
    pub async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(self.max);
    }
}

/// Runs a part of an attempt within `limit`. After a timeout, returns an error that begins with `error_prefix`.
pub(crate) async fn within<T, E: From<Error>>(
    error_prefix: &str,
    limit: Duration,
    run: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    match tokio::time::timeout(limit, run).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => {
            let problem = format!("{error_prefix}no answer within {} seconds", limit.as_secs());
            Err(Error::Io(io::Error::new(io::ErrorKind::TimedOut, problem)).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::within;
    use crate::sql_error::is_timeout;
    use sqlx::Error;
    use std::{future::pending, io, time::Duration};

    #[tokio::test(start_paused = true)]
    async fn a_step_without_an_answer_ends_at_its_deadline() {
        let silent = pending::<Result<(), Error>>();
        let error = within("cannot lock: ", Duration::from_secs(10), silent).await;
        let error = error.expect_err("too late");
        assert!(
            error
                .to_string()
                .ends_with("cannot lock: no answer within 10 seconds"),
            "{error}"
        );
        assert!(is_timeout(&error));
        assert!(!is_timeout(&Error::Io(
            io::ErrorKind::ConnectionReset.into()
        )));
    }
}
