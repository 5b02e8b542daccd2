//! The servers of one database, of which one is the primary.
//!
//! A server that does not answer must not delay the others: each has a head start before the next one
//! is tried beside it, and the first connection to a primary wins. The server that was the primary
//! last comes first. Once another one has been found, connections to the old one no longer count, also
//! those that are being opened: a primary that was frozen may return and not know its successor. Its
//! timeline shows that: a server with a lower one than was seen counts as a standby.

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

/// For a connection, with its TLS handshake and its login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// After this time without an answer the next server is tried too.
const NEXT_SERVER_DELAY: Duration = Duration::from_millis(200);

const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

/// How often each server is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tries {
    Once,
    /// Again and again while it may become the primary.
    Repeated,
}

impl Connector {
    /// Tries each server once. Of several errors, that of a standby is returned first, and that of a
    /// TLS mismatch only if all have one.
    pub(in crate::postgres) async fn try_connect(&self) -> sqlx::Result<PgConnection> {
        Ok(self.find_primary(0, Tries::Once).await?.connection)
    }

    /// Retries while a server starts, does not answer, or is a standby, which may be promoted; the
    /// timeout of the statement ends it. Discards idle connections if the primary is another server than
    /// before.
    pub(super) async fn connect(&self) -> sqlx::Result<PrimaryConnection> {
        loop {
            let before = self.last_primary.load(SeqCst);
            // The suspicion counts for one connection only, so that a hiccup of a standby does not slow down all later
            // ones.
            let is_suspect = self.is_suspect.swap(false, SeqCst);
            let first = before + usize::from(is_suspect);
            let primary = self.find_primary(first, Tries::Repeated).await?;
            let index = primary.server_index;
            match self
                .last_primary
                .compare_exchange(before, index, SeqCst, SeqCst)
            {
                Ok(_) if index != before => self.discard_idle(),
                // Another caller has found another primary meanwhile.
                Err(now) if index != now => continue,
                _ => {}
            }
            return Ok(primary);
        }
    }

    /// A connection to the first server that accepts it, even if it is a standby.
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

    /// Searches all servers, beginning with the one of this index.
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

/// A server that does not listen yet, does not answer, or does not accept connections now.
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

/// Orders the errors of several servers. The one with the lowest rank is reported, because it says most.
fn rank(error: &Error) -> u8 {
    if is_standby(error) {
        0
    } else if is_tls_mismatch(error) {
        2
    } else {
        1
    }
}
