//! Follows the changes of users, for services that store something about them.
//!
//! A service implements [`UserWatcher`]. [`AuthClient::watch_users`](crate::AuthClient::watch_users) asks it
//! where to continue, opens a stream and passes on each event. After an interruption, it waits and begins
//! again. The watcher stores the position, so no change is lost if the process ends.

use rolegate_grpc_client::{Call, CallContext, CallError, Client};
use rolegate_proto::{Reason, auth_v1::WatchUsersRequest};
use secrecy::SecretString;
use std::{convert::Infallible, error::Error, time::Duration};
use tokio::time::sleep;

pub use rolegate_proto::auth_v1::{
    UserChange, WatchProgress, watch_users_response::Item as UserEvent,
};

/// The delay before the first reconnection. It doubles after each connection that brings no revision.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(100);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(10);
/// The delay after auth-service refused the credential or its permissions. It is long, because only an operator
/// can change either.
const REFUSED_RETRY_DELAY: Duration = Duration::from_mins(1);

/// The reason why a connection ended: a [`CallError`], or an error of the watcher.
pub type WatchError = Box<dyn Error + Send + Sync>;

/// The position from which a watcher continues, and the credential with which it authenticates.
#[derive(Clone, Debug, Default)]
pub struct WatchPosition {
    /// The credential of an admin; `None` if the caller has a client certificate that is named in the
    /// settings of auth-service.
    pub token: Option<SecretString>,
    /// The last revision that was stored. Without one, the stream begins with a snapshot of all users.
    pub revision: Option<i64>,
    /// The last `seal` that was stored with an event.
    ///
    /// If its record lacks this seal, auth-service answers with [`Reason::HistoryUnknown`]. The database is
    /// then another one or was restored, or retention has removed the seal. Only an operator can decide to
    /// continue without it.
    pub seal: Option<String>,
}

/// Handles the changes of users, and stores their revisions and seals.
pub trait UserWatcher: Send {
    /// Returns the position from which to continue. The client calls it before each connection.
    ///
    /// The stream begins with a snapshot if the position has no revision, or if `has_gap` is true because
    /// auth-service no longer knows the changes after that revision. In a snapshot, all users come by ascending
    /// id, as changes of revision 0, until the next progress.
    fn connect(
        &mut self,
        has_gap: bool,
    ) -> impl Future<Output = Result<WatchPosition, WatchError>> + Send;

    /// Handles an event. After an interruption, the event comes again unless its revision was stored.
    fn handle(&mut self, event: UserEvent) -> impl Future<Output = Result<(), WatchError>> + Send;

    /// Receives the reason why a connection, or an attempt to connect, has ended. The client does not call it
    /// when it connects again at once to get a snapshot.
    fn interrupted(&mut self, error: &WatchError);
}

/// Streams the changes of users to `watcher` until this future is dropped, and reconnects after
/// interruptions.
pub(crate) async fn watch_users(client: &Client, watcher: &mut impl UserWatcher) -> Infallible {
    let mut retry_delay = MIN_RETRY_DELAY;
    let mut has_gap = false;
    loop {
        let Err(error) = watch_once(client, watcher, has_gap, &mut retry_delay).await;
        let reason = error.downcast_ref().and_then(CallError::reason);
        if reason == Some(Reason::SnapshotRequired) && !has_gap {
            has_gap = true;
            continue;
        }
        has_gap = false;
        watcher.interrupted(&error);
        sleep(retry_delay.max(min_delay_after(&error))).await;
        retry_delay = (retry_delay * 2).min(MAX_RETRY_DELAY);
    }
}

/// Returns the minimum delay after an error, which is zero unless the error is a refusal.
fn min_delay_after(error: &WatchError) -> Duration {
    let Some(CallError::Refused(refusal)) = error.downcast_ref() else {
        return Duration::ZERO;
    };
    match refusal.reason {
        Reason::TokenInvalid | Reason::TokenUserNotFound => REFUSED_RETRY_DELAY,
        reason if reason.is_denial() => REFUSED_RETRY_DELAY,
        _ => refusal.retry_after.unwrap_or_default(),
    }
}

/// Streams changes until the connection ends. If `has_gap` is true, the stream begins with a snapshot. An event
/// with a revision resets `retry_delay`.
async fn watch_once(
    client: &Client,
    watcher: &mut impl UserWatcher,
    has_gap: bool,
    retry_delay: &mut Duration,
) -> Result<Infallible, WatchError> {
    let position = watcher.connect(has_gap).await?;
    let message = WatchUsersRequest {
        from_revision: position.revision.filter(|_| !has_gap),
        seal: position.seal,
    };
    let mut call = Call::read(CallContext::default());
    if let Some(token) = position.token {
        call = call.authenticated(&token)?;
    }
    let mut stream = call.open_stream(client, message).await?;
    loop {
        let response = stream.message().await;
        let response = response.map_err(|status| CallError::from_status(&status, false))?;
        // A replica ends the stream when it stops.
        let response = response.ok_or(CallError::Unavailable)?;
        let Some(event) = response.item else {
            // A later version may send an item that this one does not know.
            continue;
        };
        let is_of_snapshot = matches!(&event, UserEvent::Change(change) if change.revision == 0);
        watcher.handle(event).await?;
        if !is_of_snapshot {
            *retry_delay = MIN_RETRY_DELAY;
        }
    }
}
