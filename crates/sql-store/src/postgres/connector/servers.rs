//! Finds the primary among the servers of one database.
//!
//! A server that does not answer must not delay the others. So each server has a head start before the next one
//! is tried beside it, and the first connection to a primary wins. The server that was the primary last is
//! tried first, unless it does not answer commits.
//!
//! Once another server has been found to be the primary, connections to the old one are no longer used, not
//! even those that are still being opened. Otherwise, a primary that was frozen and does not know of its
//! successor could answer later. Its timeline reveals it: a server whose timeline is lower than the highest one
//! seen is treated as a standby.

use super::{Connector, PrimaryConnection};
use crate::{
    postgres::{primary::is_standby, session_settings},
    retry::{Backoff, within},
    sql_error::is_tls_mismatch,
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use sqlx::{ConnectOptions as _, Error, PgConnection};
use std::{io::ErrorKind, sync::atomic::Ordering::SeqCst, time::Duration};
use tokio::time::timeout;

/// The time limit of opening a connection, including the TLS handshake and the login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time after which the next server is tried as well, if a server has not answered.
const NEXT_SERVER_DELAY: Duration = Duration::from_millis(200);

const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Determines whether a search tries each server once or several times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tries {
    Once,
    /// Each server is tried again while it may still become the primary.
    Repeated,
}

impl Connector {
    /// Connects to the primary, and tries each server only once. If all servers fail, the error of a standby is
    /// preferred over others. A TLS mismatch is returned only if every server has one.
    pub(in crate::postgres) async fn try_connect(&self) -> sqlx::Result<PgConnection> {
        Ok(self.find_primary(0, Tries::Once).await?.connection)
    }

    /// Connects to the primary, and keeps trying while a server is starting, does not answer, or is a standby,
    /// which may be promoted. The attempts end when the caller's timeout drops this future.
    ///
    /// Discards idle connections if the primary is another server than before.
    pub(super) async fn connect(&self) -> sqlx::Result<PrimaryConnection> {
        loop {
            let before = self.last_primary.load(SeqCst);
            // The suspicion applies to the next connection only, so that a brief problem of a standby does not
            // slow down all later connections.
            let is_suspect = self.is_suspect.swap(false, SeqCst);
            let first = before + usize::from(is_suspect);
            let primary = self.find_primary(first, Tries::Repeated).await?;
            let index = primary.server_index;
            match self
                .last_primary
                .compare_exchange(before, index, SeqCst, SeqCst)
            {
                Ok(_) if index != before => self.discard_idle(),
                // Meanwhile another caller has found another primary, so the search is repeated.
                Err(now) if index != now => continue,
                _ => {}
            }
            return Ok(primary);
        }
    }

    /// Connects to the first server that accepts a connection, even if it is a standby. If all servers fail,
    /// returns the error of the last one.
    pub(in crate::postgres) async fn connect_to_any(&self) -> sqlx::Result<PgConnection> {
        let mut outcome = Err(Error::RowNotFound);
        for options in &self.servers {
            outcome = options.connect().await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    /// Searches all servers for the primary, beginning with the server of this index. Returns the first
    /// connection to a primary. If all servers fail, returns the error with the lowest [`rank`].
    async fn find_primary(&self, first: usize, tries: Tries) -> sqlx::Result<PrimaryConnection> {
        let count = self.servers.len();
        let mut untried = (first..first + count).map(|index| self.connect_to(index % count, tries));
        let mut attempts = FuturesUnordered::new();
        let mut failures = Vec::new();
        loop {
            attempts.extend(untried.next());
            let patience = if untried.len() == 0 {
                Duration::MAX
            } else {
                NEXT_SERVER_DELAY
            };
            match timeout(patience, attempts.next()).await {
                Ok(Some(Ok(primary))) => return Ok(primary),
                Ok(Some(Err(error))) => failures.push(error),
                Ok(None) => {
                    let failure = failures.into_iter().min_by_key(rank);
                    return Err(failure.unwrap_or(Error::RowNotFound));
                }
                Err(_elapsed) => {}
            }
        }
    }

    async fn connect_to(
        &self,
        server_index: usize,
        tries: Tries,
    ) -> sqlx::Result<PrimaryConnection> {
        let server = &self.servers[server_index];
        let mut backoff = Backoff::between(MIN_RETRY_DELAY, MAX_RETRY_DELAY);
        loop {
            let connecting = async {
                let mut connection: PgConnection = server.connect().await?;
                let timeline = self.timeline.require_primary(&mut connection).await?;
                session_settings::require(&mut connection).await?;
                Ok(PrimaryConnection {
                    connection,
                    server_index,
                    timeline,
                })
            };
            match within("cannot connect: ", CONNECT_TIMEOUT, connecting).await {
                Err(error) if tries == Tries::Repeated && can_become_primary(&error) => {
                    backoff.wait().await;
                }
                outcome => return outcome,
            }
        }
    }
}

fn can_become_primary(error: &Error) -> bool {
    is_standby(error) || is_starting(error)
}

/// Returns whether the server may be starting: it does not listen yet, does not answer, or does not accept
/// connections now.
fn is_starting(error: &Error) -> bool {
    match error {
        Error::Io(error) => matches!(
            error.kind(),
            ErrorKind::ConnectionRefused | ErrorKind::TimedOut
        ),
        Error::Database(error) => error.is_transient_in_connect_phase(),
        _ => false,
    }
}

/// Orders the errors of several servers. The error with the lowest rank is reported, because it is the most
/// useful to the operator.
fn rank(error: &Error) -> u8 {
    if is_standby(error) {
        0
    } else if is_tls_mismatch(error) {
        2
    } else {
        1
    }
}
