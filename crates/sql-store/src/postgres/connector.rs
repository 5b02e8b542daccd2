//! Opens the connections of the pool, and checks them before they are used again.
//!
//! `servers.rs` finds the primary among the servers of one database. This file remembers which server it was,
//! and discards idle connections to servers that failed or are no longer the primary.

mod servers;

use super::primary::Timeline;
use crate::{ReadConsistency, STATEMENT_TIMEOUT};
use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use parking_lot::Mutex;
use sqlx::{Connection as _, Error, PgConnection, postgres::PgConnectOptions};
use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    time::{Duration, Instant},
};
use tokio::{sync::Notify, time::timeout};

/// The maximum age of a connection, and the maximum time that it may stay unused. When a statement returns a
/// connection of this age, the pool closes it and all connections that were unused for this time.
pub(super) const MAX_LIFETIME: Duration = Duration::from_mins(10);
/// A connection that was used within this time is not pinged before its next use.
const MAX_UNCHECKED_IDLE: Duration = Duration::from_secs(1);
/// The time limit of a ping, and of closing connections. A server that needs longer for a ping is too slow for
/// any request.
pub(super) const PING_TIMEOUT: Duration = Duration::from_millis(500);

/// Opens connections to the primary among the servers of one database.
#[derive(Default)]
pub(super) struct Connector {
    servers: Vec<PgConnectOptions>,
    pub(super) reads: ReadConsistency,
    /// The index of the server that was most recently found to be the primary.
    last_primary: AtomicUsize,
    /// True if the last primary does not answer commits. The next new connection then tries the other servers
    /// first.
    is_suspect: AtomicBool,
    pub(super) timeline: Timeline,
    /// The latest time at which a ping failed, a commit was overdue, a server turned out to be a standby, or
    /// another server turned out to be the primary.
    ///
    /// Connections that were idle at that time are probably useless as well. The pool discards them without a
    /// ping, because each ping could take until its timeout.
    last_failure: Mutex<Option<Instant>>,
    /// Notified when a connection has left the pool.
    pub(super) closed: Notify,
}

/// A pooled connection, and the server process behind it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: PgConnection,
    pub(super) pid: i32,
    /// The timeline of the server when the connection was opened; `None` if the server does not report it.
    pub(super) timeline: Option<i64>,
}

/// A new connection to a primary.
struct PrimaryConnection {
    connection: PgConnection,
    /// The index of the server in `Connector::servers`.
    server_index: usize,
    /// The timeline of the server; `None` if the server does not report it.
    timeline: Option<i64>,
}

impl Connector {
    pub(super) fn new(servers: Vec<PgConnectOptions>, reads: ReadConsistency) -> Self {
        Self {
            servers,
            reads,
            ..Self::default()
        }
    }

    /// Makes the next new connection try the other servers first, and discards the idle connections.
    pub(super) fn suspect_server(&self) {
        self.is_suspect.store(true, SeqCst);
        self.discard_idle();
    }

    /// Searches for a primary that was promoted after the last known one.
    ///
    /// The search opens a connection of its own, records the timeline of its server, and closes the connection.
    /// If the server is a new primary, the pool discards the connections to the old one; otherwise, its
    /// connections stay usable. A failed search is ignored.
    pub(super) async fn search_primary(&self) {
        self.is_suspect.store(true, SeqCst);
        if let Ok(Ok(found)) = timeout(STATEMENT_TIMEOUT, self.connect()).await {
            let _ = timeout(PING_TIMEOUT, found.connection.close()).await;
        }
    }

    /// Pings the server. Returns whether it responds on this connection within [`PING_TIMEOUT`] and is still
    /// the primary.
    pub(super) async fn is_usable(&self, session: &mut Session) -> bool {
        let ping = self
            .timeline
            .require_still_primary(&mut session.connection, session.timeline);
        matches!(timeout(PING_TIMEOUT, ping).await, Ok(Ok(())))
    }

    /// Discards every connection that is idle now: the pool closes it instead of lending it again.
    pub(super) fn discard_idle(&self) {
        *self.last_failure.lock() = Some(Instant::now());
    }
}

impl Manager for Connector {
    type Type = Session;
    type Error = Error;

    async fn create(&self) -> Result<Session, Error> {
        let mut primary = self.connect().await?;
        let pid = sqlx::query_scalar("SELECT pg_backend_pid()")
            .fetch_one(&mut primary.connection)
            .await?;
        Ok(Session {
            connection: primary.connection,
            pid,
            timeline: primary.timeline,
        })
    }

    async fn recycle(&self, session: &mut Session, metrics: &Metrics) -> RecycleResult<Error> {
        if self.timeline.is_superseded(session.timeline) {
            return Err(RecycleError::message("another server was promoted"));
        }
        let last_used = metrics.recycled.unwrap_or(metrics.created);
        if let Some(failure) = *self.last_failure.lock()
            && failure >= last_used
        {
            return Err(RecycleError::message("another connection failed"));
        }
        if last_used.elapsed() < MAX_UNCHECKED_IDLE || self.is_usable(session).await {
            return Ok(());
        }
        self.discard_idle();
        Err(RecycleError::message("the ping failed"))
    }

    fn detach(&self, _session: &mut Session) {
        self.closed.notify_waiters();
    }
}

impl fmt::Debug for Connector {
    /// Leaves out the options, which contain the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connector").finish_non_exhaustive()
    }
}
