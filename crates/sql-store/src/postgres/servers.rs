//! The servers of one database, of which one is the primary.
//!
//! A server that does not answer must not delay the others: each has a head start before the next one
//! is tried beside it, and the first connection to a primary wins. The server that was the primary
//! last comes first. Once another one has been found, connections to the old one no longer count, also
//! those that are being opened: a primary that was frozen may return and not know its successor. Its
//! timeline shows that: a server with a lower one than was seen counts as a standby.

use super::primary::{Timeline, is_standby};
use crate::{
    retry::{Backoff, within},
    sql_error::is_tls_mismatch,
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use sqlx::{ConnectOptions as _, Error, PgConnection, postgres::PgConnectOptions};
use std::{
    fmt,
    io::ErrorKind,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    time::Duration,
};
use tokio::time::timeout;

/// For a connection, with its TLS handshake and its login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// After this time the next server is tried too.
const HEAD_START: Duration = Duration::from_millis(200);

const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Connects to the primary among some servers.
pub(super) struct Servers {
    options: Vec<PgConnectOptions>,
    /// The index of the server that was the primary last.
    last_primary: AtomicUsize,
    /// Whether its commits are not answered, so that another primary is preferred.
    is_suspect: AtomicBool,
    pub(super) timeline: Timeline,
}

impl Servers {
    pub(super) fn new(options: Vec<PgConnectOptions>) -> Self {
        Self {
            options,
            last_primary: AtomicUsize::new(0),
            is_suspect: AtomicBool::new(false),
            timeline: Timeline::default(),
        }
    }

    /// Tries each server once. Of several errors, that of a standby is returned first, and that of a
    /// TLS mismatch only if all have one.
    pub(super) async fn try_connect(&self) -> sqlx::Result<PgConnection> {
        let connect = |options| async move { connect(&options, &self.timeline).await };
        let (_, (connection, _)) = self.first_primary(0, connect).await?;
        Ok(connection)
    }

    /// Retries while a server starts, does not answer, or is a standby, which may be promoted; the
    /// timeout of the statement ends it. Calls `moved` if the primary is another server than before.
    pub(super) async fn connect(&self, moved: impl Fn()) -> sqlx::Result<Connected> {
        loop {
            let before = self.last_primary.load(SeqCst);
            // For one connection, so that a hiccup of a standby does not slow down all later ones.
            let is_suspect = self.is_suspect.swap(false, SeqCst);
            let first = before + usize::from(is_suspect);
            let connect = |options| connect_with_retries(options, &self.timeline);
            let (index, connected) = self.first_primary(first, connect).await?;
            match self.last_primary.compare_exchange(before, index, SeqCst, SeqCst) {
                Ok(_) if index != before => moved(),
                Err(now) if index != now => continue,
                _ => {}
            }
            return Ok(connected);
        }
    }

    /// For the next connection the last primary is tried after the others.
    pub(super) fn suspect(&self) {
        self.is_suspect.store(true, SeqCst);
    }

    /// A connection to the first server that accepts it, even if it is a standby.
    pub(super) async fn connect_to_any(&self) -> sqlx::Result<PgConnection> {
        let mut outcome = Err(Error::RowNotFound);
        for options in &self.options {
            outcome = options.connect().await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    async fn first_primary<F>(
        &self,
        first: usize,
        connect: impl Fn(PgConnectOptions) -> F,
    ) -> sqlx::Result<(usize, Connected)>
    where
        F: Future<Output = sqlx::Result<Connected>>,
    {
        let count = self.options.len();
        let mut untried = (first..first + count).map(|index| {
            let index = index % count;
            let attempt = connect(self.options[index].clone());
            async move { (index, attempt.await) }
        });
        let (mut attempts, mut failures) = (FuturesUnordered::new(), Vec::new());
        loop {
            attempts.extend(untried.next());
            let patience = if untried.len() == 0 { Duration::MAX } else { HEAD_START };
            match timeout(patience, attempts.next()).await {
                Ok(Some((index, Ok(connected)))) => return Ok((index, connected)),
                Ok(Some((_, Err(error)))) => failures.push(error),
                Ok(None) => {
                    return Err(failures
                        .into_iter()
                        .min_by_key(rank)
                        .unwrap_or(Error::RowNotFound));
                }
                Err(_elapsed) => {}
            }
        }
    }
}

/// A connection to a primary, and its timeline.
pub(super) type Connected = (PgConnection, Option<i64>);

async fn connect(options: &PgConnectOptions, timeline: &Timeline) -> sqlx::Result<Connected> {
    let connecting = async {
        let mut connection: PgConnection = options.connect().await?;
        let timeline = timeline.require_primary(&mut connection).await?;
        Ok((connection, timeline))
    };
    within("cannot connect: ", CONNECT_TIMEOUT, connecting).await
}

async fn connect_with_retries(
    options: PgConnectOptions,
    timeline: &Timeline,
) -> sqlx::Result<Connected> {
    let mut backoff = Backoff::between(MIN_RETRY_DELAY, MAX_RETRY_DELAY);
    loop {
        match connect(&options, timeline).await {
            Err(error) if is_standby(&error) || is_starting(&error) => backoff.wait().await,
            outcome => return outcome,
        }
    }
}

/// A server that does not listen yet, does not answer, or does not accept connections now.
fn is_starting(error: &Error) -> bool {
    match error {
        Error::Io(error) => {
            matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::TimedOut)
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

impl fmt::Debug for Servers {
    /// Without the options, which hold the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Servers").finish_non_exhaustive()
    }
}
