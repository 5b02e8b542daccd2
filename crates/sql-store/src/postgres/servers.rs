//! The servers of one database, of which one is the primary.
//!
//! A server that does not answer must not delay the others: each has a head start before the next one
//! is tried beside it, and the first connection to a primary wins. The server that was the primary
//! last comes first. Once another one has been found, connections to the old one no longer count, also
//! those that are being opened: a primary that was frozen may return and not know its successor. Its
//! timeline shows that: a server with a lower one than was seen counts as a standby.

use super::{connector::Connector, primary::is_standby, session_settings};
use crate::{
    retry::{Backoff, within},
    sql_error::is_tls_mismatch,
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use sqlx::{ConnectOptions as _, Error, PgConnection, postgres::PgConnectOptions};
use std::{io::ErrorKind, sync::atomic::Ordering::SeqCst, time::Duration};
use tokio::time::timeout;

/// For a connection, with its TLS handshake and its login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// After this time the next server is tried too.
const HEAD_START: Duration = Duration::from_millis(200);

const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

impl Connector {
    /// Tries each server once. Of several errors, that of a standby is returned first, and that of a
    /// TLS mismatch only if all have one.
    pub(super) async fn try_connect(&self) -> sqlx::Result<PgConnection> {
        let (_, (connection, _)) = self.first_primary(0, false).await?;
        Ok(connection)
    }

    /// Retries while a server starts, does not answer, or is a standby, which may be promoted; the
    /// timeout of the statement ends it. Discards idle connections if the primary is another server than
    /// before.
    pub(super) async fn connect(&self) -> sqlx::Result<Connected> {
        loop {
            let before = self.last_primary.load(SeqCst);
            // For one connection, so that a hiccup of a standby does not slow down all later ones.
            let is_suspect = self.is_suspect.swap(false, SeqCst);
            let first = before + usize::from(is_suspect);
            let (index, connected) = self.first_primary(first, true).await?;
            match self
                .last_primary
                .compare_exchange(before, index, SeqCst, SeqCst)
            {
                Ok(_) if index != before => self.discard_idle(),
                Err(now) if index != now => continue,
                _ => {}
            }
            return Ok(connected);
        }
    }

    /// A connection to the first server that accepts it, even if it is a standby.
    pub(super) async fn connect_to_any(&self) -> sqlx::Result<PgConnection> {
        let mut outcome = Err(Error::RowNotFound);
        for options in &self.servers {
            outcome = options.connect().await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    async fn first_primary(&self, first: usize, retries: bool) -> sqlx::Result<(usize, Connected)> {
        let count = self.servers.len();
        let mut untried = (first..first + count).map(|index| async move {
            let index = index % count;
            (index, self.connect_to(&self.servers[index], retries).await)
        });
        let (mut attempts, mut failures) = (FuturesUnordered::new(), Vec::new());
        loop {
            attempts.extend(untried.next());
            let patience = if untried.len() == 0 {
                Duration::MAX
            } else {
                HEAD_START
            };
            match timeout(patience, attempts.next()).await {
                Ok(Some((index, Ok(connected)))) => return Ok((index, connected)),
                Ok(Some((_, Err(error)))) => failures.push(error),
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
        server: &PgConnectOptions,
        retries: bool,
    ) -> sqlx::Result<Connected> {
        let mut backoff = Backoff::between(MIN_RETRY_DELAY, MAX_RETRY_DELAY);
        loop {
            let connecting = async {
                let mut connection: PgConnection = server.connect().await?;
                let timeline = self.timeline.require_primary(&mut connection).await?;
                session_settings::require(&mut connection).await?;
                Ok((connection, timeline))
            };
            match within("cannot connect: ", CONNECT_TIMEOUT, connecting).await {
                Err(error) if retries && (is_standby(&error) || is_starting(&error)) => {
                    backoff.wait().await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// A connection to a primary, and its timeline.
type Connected = (PgConnection, Option<i64>);

/// A server that does not listen yet, does not answer, or does not accept connections now.
fn is_starting(error: &Error) -> bool {
    match error {
        Error::Io(error) => {
            matches!(
                error.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::TimedOut
            )
        }
        Error::Database(error) => error.is_transient_in_connect_phase(),
        _ => false,
    }
}

/// Of the errors of several servers, the least says most.
fn rank(error: &Error) -> u8 {
    match error {
        error if is_standby(error) => 0,
        error if is_tls_mismatch(error) => 2,
        _ => 1,
    }
}
