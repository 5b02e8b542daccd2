//! Opens and checks the connections of the pool.

use super::primary::{is_standby, require_primary};
use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use sqlx::{ConnectOptions, Error, PgConnection, postgres::PgConnectOptions};
use std::{
    fmt,
    io::ErrorKind,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

/// A connection is closed at this age, or after this time without use.
pub(super) const MAX_LIFETIME: Duration = Duration::from_mins(10);
/// A connection used within this time is not pinged.
const MAX_UNCHECKED_IDLE: Duration = Duration::from_secs(1);
/// A server that needs longer for a ping is too slow for any request.
pub(super) const PING_TIMEOUT: Duration = Duration::from_millis(500);

const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Opens connections to one server.
pub(super) struct Connector {
    options: PgConnectOptions,
    /// When a ping failed, or a server turned out to be a standby. Connections that were idle then are
    /// probably useless too, and a ping of each would take its timeout.
    last_failure: Mutex<Option<Instant>>,
    /// Notified when a connection has left the pool.
    pub(super) closed: Notify,
}

impl Connector {
    pub(super) fn new(options: PgConnectOptions) -> Self {
        Self { options, last_failure: Mutex::default(), closed: Notify::new() }
    }

    async fn connect(&self) -> Result<PgConnection, Error> {
        let mut connection: PgConnection = self.options.connect().await?;
        require_primary(&mut connection).await?;
        Ok(connection)
    }

    /// Lets no connection be used again that is idle now.
    pub(super) fn discard_idle(&self) {
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Manager for Connector {
    type Type = PgConnection;
    type Error = Error;

    /// Retries while the server starts, or is a standby that may be promoted; the timeout of the statement ends it.
    async fn create(&self) -> Result<PgConnection, Error> {
        let mut delay = MIN_RETRY_DELAY;
        loop {
            match self.connect().await {
                Err(error) if is_starting(&error) || is_standby(&error) => sleep(delay).await,
                outcome => return outcome,
            }
            delay = (delay * 2).min(MAX_RETRY_DELAY);
        }
    }

    async fn recycle(
        &self,
        connection: &mut PgConnection,
        metrics: &Metrics,
    ) -> RecycleResult<Error> {
        let last_failure = *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
        let last_used = metrics.recycled.unwrap_or(metrics.created);
        if last_failure.is_some_and(|failure| failure >= last_used) {
            return Err(RecycleError::message("another connection failed"));
        }
        if last_used.elapsed() < MAX_UNCHECKED_IDLE || is_usable(connection).await {
            return Ok(());
        }
        self.discard_idle();
        Err(RecycleError::message("the ping failed"))
    }

    fn detach(&self, _connection: &mut PgConnection) {
        self.closed.notify_waiters();
    }
}

/// A ping: whether the server responds on this connection, and is a primary.
pub(super) async fn is_usable(connection: &mut PgConnection) -> bool {
    timeout(PING_TIMEOUT, require_primary(connection)).await.is_ok_and(|answer| answer.is_ok())
}

/// A server that does not listen yet, or does not accept connections now.
fn is_starting(error: &Error) -> bool {
    match error {
        Error::Io(error) => error.kind() == ErrorKind::ConnectionRefused,
        Error::Database(error) => error.is_transient_in_connect_phase(),
        _ => false,
    }
}

impl fmt::Debug for Connector {
    /// Without the options, which hold the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connector").finish_non_exhaustive()
    }
}
