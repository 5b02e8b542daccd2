//! The changes of users, for services that keep something of theirs.

use crate::{batchers::Client, client::AuthClient};
use rolegate_grpc_client::{CallContext, CallError, authenticated_request, open_stream};
use rolegate_proto::{Reason, auth_v1::WatchUsersRequest};
use secrecy::SecretString;
use std::{convert::Infallible, error::Error, time::Duration};
use tokio::time::sleep;

pub use rolegate_proto::auth_v1::{
    UserChange, WatchProgress, watch_users_response::Item as UserEvent,
};

/// Before the next connection; doubled with each that brings no revision.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Without permission, which takes an operator to change.
const REFUSED_PAUSE: Duration = Duration::from_mins(1);

/// Why a connection ended: a [`CallError`], or an error of the watcher.
pub type WatchError = Box<dyn Error + Send + Sync>;

/// Where a watcher goes on.
#[derive(Clone, Debug, Default)]
pub struct WatchPosition {
    /// The credential of an admin; `None` for a client certificate that auth-service names.
    pub token: Option<SecretString>,
    /// The last revision that was stored. Without one all users come first.
    pub revision: Option<i64>,
    /// The last `seal` that was stored with an event. auth-service answers [`Reason::HistoryUnknown`] if its record does
    /// not contain it: the database is another one or was restored, or retention has removed the seal. Only an operator
    /// can decide to go on without it.
    pub seal: Option<String>,
}

/// Handles the changes of users, and stores their revisions and seals.
pub trait UserWatcher: Send {
    /// Called before each connection. Without a revision, or with `has_gap`, because the changes behind it are not
    /// known any more, all users come first by ascending id, as changes of revision 0, until the next progress.
    fn connect(
        &mut self,
        has_gap: bool,
    ) -> impl Future<Output = Result<WatchPosition, WatchError>> + Send;

    /// Handles an event, which comes again unless its revision is stored.
    fn handle(&mut self, event: UserEvent) -> impl Future<Output = Result<(), WatchError>> + Send;

    /// Learns why a connection, or the attempt, ended.
    fn interrupted(&mut self, error: &WatchError);
}

impl AuthClient {
    /// Streams the changes of users to `watcher` until it is dropped, through interruptions.
    pub async fn watch_users(&self, watcher: &mut impl UserWatcher) -> Infallible {
        let (mut pause, mut has_gap) = (MIN_PAUSE, false);
        loop {
            let Err(error) = self.watch_once(watcher, has_gap, &mut pause).await;
            let (reason, retry_after) = match error.downcast_ref() {
                Some(CallError::Refused(error)) => (Some(error.reason), error.retry_after),
                _ => (None, None),
            };
            has_gap = reason == Some(Reason::SnapshotRequired) && !has_gap;
            if has_gap {
                continue;
            }
            watcher.interrupted(&error);
            let least = match reason {
                Some(Reason::TokenInvalid | Reason::TokenUserNotFound) => REFUSED_PAUSE,
                Some(reason) if reason.is_denial() => REFUSED_PAUSE,
                _ => retry_after.unwrap_or_default(),
            };
            sleep(pause.max(least)).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    async fn watch_once(
        &self,
        watcher: &mut impl UserWatcher,
        has_gap: bool,
        pause: &mut Duration,
    ) -> Result<Infallible, WatchError> {
        let position = watcher.connect(has_gap).await?;
        let message = WatchUsersRequest {
            from_revision: position.revision.filter(|_| !has_gap),
            seal: position.seal,
        };
        let request = match position.token {
            Some(token) => authenticated_request(message, &token, CallContext::default())?,
            None => CallContext::default().request(message),
        };
        let mut stream = open_stream(self.client(), request, Client::watch_users).await?;
        loop {
            let response = stream.message().await;
            let response = response.map_err(|status| CallError::from_status(&status, false))?;
            // Without an item it is of a later version. A replica that stops ends the stream.
            let Some(event) = response.ok_or(CallError::Unavailable)?.item else {
                continue;
            };
            let is_of_snapshot =
                matches!(&event, UserEvent::Change(change) if change.revision == 0);
            watcher.handle(event).await?;
            if !is_of_snapshot {
                *pause = MIN_PAUSE;
            }
        }
    }
}
