//! Checks the right to watch the changes of users, at the start of a stream and repeatedly while it
//! runs.

use crate::accounts::{authorizer::Authorizer, error::AccountError};
use secrecy::{ExposeSecret as _, SecretString};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout};

/// The interval at which a stream checks that its caller may still watch.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The caller of a stream, with the credential or the certificate name that gives the right to
/// watch.
pub(crate) enum Watcher {
    /// An admin with this credential.
    Bearer(SecretString),
    /// A service that the operator trusts, with this name in its certificate.
    Service(String),
}

impl Watcher {
    /// Checks that the watcher may watch, and returns the name under which the watcher's streams
    /// are counted. A trusted service needs no check.
    pub(super) async fn check(&self, authorizer: &Authorizer) -> Result<String, AccountError> {
        match self {
            Self::Bearer(token) => {
                let admin = authorizer.authorize_admin(token.expose_secret()).await?;
                Ok(format!("user {}", admin.user.id))
            }
            Self::Service(name) => Ok(format!("service {name}")),
        }
    }
}

/// The right of a caller to watch, and the time of its last check.
pub(super) struct WatchAccess {
    authorizer: Arc<Authorizer>,
    watcher: Watcher,
    /// The time at which a check last admitted the watcher.
    checked_at: Instant,
}

impl WatchAccess {
    /// Creates the access of a watcher whom a check has just admitted.
    pub(super) fn new(authorizer: Arc<Authorizer>, watcher: Watcher) -> Self {
        Self {
            authorizer,
            watcher,
            checked_at: Instant::now(),
        }
    }

    /// Checks the right to watch, and fails if the watcher has lost it.
    pub(super) async fn check(&mut self) -> Result<(), AccountError> {
        self.watcher.check(&self.authorizer).await?;
        self.checked_at = Instant::now();
        Ok(())
    }

    /// Waits for `work` without a time limit and returns its output, but fails soon after the
    /// watcher has lost the right to watch.
    pub(super) async fn check_during<F: Future>(
        &mut self,
        work: F,
    ) -> Result<F::Output, AccountError> {
        let mut work = pin!(work);
        loop {
            if self.checked_at.elapsed() >= CHECK_INTERVAL {
                self.check().await?;
            }
            if let Ok(output) = timeout(CHECK_INTERVAL, &mut work).await {
                return Ok(output);
            }
        }
    }
}
